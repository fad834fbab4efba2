package sys

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// planted is a directory with what a server could put in the place of files, and a victim
// outside of it that all of that leads to.
func planted(t *testing.T) (dir, victim string) {
	t.Helper()
	dir, victim = t.TempDir(), t.TempDir()
	secret := filepath.Join(victim, "secret")
	for _, err := range []error{
		os.WriteFile(secret, []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(dir, "file"), []byte("data"), 0o600),
		os.Mkdir(filepath.Join(dir, "dir"), 0o700),
		os.Symlink(secret, filepath.Join(dir, "link")),
		os.Symlink("file", filepath.Join(dir, "inner")),
		os.Symlink(victim, filepath.Join(dir, "linkdir")),
		unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, victim
}

// TestDir: no name below a directory leads elsewhere, and none holds up the caller.
func TestDir(t *testing.T) {
	dir, victim := planted(t)
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	within := time.AfterFunc(2*time.Minute, func() { panic("it waits for who writes to a FIFO") })
	defer within.Stop()

	for _, name := range []string{"link", "inner", "fifo", "dir", "linkdir"} {
		if f, err := d.Open(name, os.O_RDONLY); !errors.Is(err, ErrNotPlain) {
			t.Errorf("opened %s for reading: %v, %v", name, f, err)
		}
	}
	for _, name := range []string{"link", "inner", "fifo", "linkdir"} {
		if f, err := d.Open(name, os.O_WRONLY|os.O_TRUNC); !errors.Is(err, ErrNotPlain) {
			t.Errorf("opened %s for writing: %v, %v", name, f, err)
		}
		if _, err := d.Dir(name); !errors.Is(err, ErrNotPlain) {
			t.Errorf("opened directory %s: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "dir/x", "../x", "/etc/passwd"} {
		if _, err := d.Open(name, os.O_RDONLY); err == nil {
			t.Errorf("opened %q", name)
		}
	}
	if _, err := OpenDir(filepath.Join(dir, "linkdir")); !errors.Is(err, ErrNotPlain) {
		t.Errorf("opened a link to a directory: %v", err)
	}
	f, err := d.Open("file", os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "dir", "linkdir"} {
		if err := CopyWhole(t.Context(), d, name, f, 0, func(*os.File) error { return nil }); !errors.Is(err, os.ErrExist) {
			t.Errorf("copied to %s: %v", name, err)
		}
	}
	f.Close()
	for _, name := range []string{"link", "fifo", "nothing"} {
		if err := d.Remove(name); err != nil {
			t.Error(err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(victim, "secret")); err != nil || string(b) != "secret" {
		t.Errorf("the victim is %q, %v", b, err)
	}
}

// TestDirSwapped: the directory is swapped for a link all the time; nothing is ever written, or
// given away, where the link leads.
func TestDirSwapped(t *testing.T) {
	top, victim := t.TempDir(), t.TempDir()
	dir, link := filepath.Join(top, "dir"), filepath.Join(top, "link")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(victim, link), os.WriteFile(filepath.Join(top, "src"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	swapped := make(chan struct{})
	go func() {
		defer close(swapped)
		for ctx.Err() == nil {
			if err := Exchange(dir, link); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	in, err := OpenIn(top, "src")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	made := 0
	for ctx.Err() == nil {
		d, err := OpenDir(dir)
		if err != nil {
			continue
		}
		if CopyWhole(t.Context(), d, "copy", in, 0, func(*os.File) error { return nil }) == nil {
			made++
		}
		if err := errors.Join(d.Remove("copy"), d.Give(os.Geteuid(), os.Getegid()), d.Close()); err != nil {
			t.Error(err)
		}
	}
	<-swapped
	if entries, err := os.ReadDir(victim); err != nil || len(entries) > 0 {
		t.Errorf("the victim holds %v (%v)", entries, err)
	}
	if made == 0 {
		t.Error("nothing was ever copied")
	}
}
