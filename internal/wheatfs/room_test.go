package wheatfs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// smallDisk is a disk of so many bytes, as mount(8) has them.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	m, err := sys.NewMount("tmpfs", "size="+size)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Attach(dir), m.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sys.Unmount(dir, false); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillUp writes to a file until there is no room, as fast as a disk would take it, and returns how much that was.
func fillUp(t *testing.T, file *os.File) (written int64) {
	t.Helper()
	block := make([]byte, mb)
	var err error
	for err == nil {
		fill(block, written)
		if _, err = file.Write(block); err == nil {
			written += mb
		}
		if written%(8*mb) == 0 {
			time.Sleep(2 * roomInterval) // a disk takes longer
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v after %d MB", err, written>>20)
	}
	return written
}

// TestDiskFull: who writes more than RAM and disk have is told so when it writes, and what was written is whole.
func TestDiskFull(t *testing.T) {
	need(t)
	o := options(smallDisk(t, "96m"))
	o.Size = 512 * mb // more than there is
	f, dir := newFS(t, o)
	file, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	written := fillUp(t, file)
	if written < 48*mb || written > 128*mb {
		t.Errorf("%d MB were written; there are 32 of RAM and 96 of disk, of which 64 are kept", written>>20)
	}
	if err := file.Sync(); err != nil {
		t.Error(err)
	}
	if err := dropCache(file); err != nil {
		t.Error(err)
	}
	got, block := make([]byte, mb), make([]byte, mb)
	for at := int64(0); at < written; at += mb {
		fill(block, at)
		if _, err := file.ReadAt(got, at); err != nil || !bytes.Equal(got, block) {
			t.Fatalf("MB %d differs, or %v", at>>20, err)
		}
	}
	if r := f.Report(); r.Error != "" {
		t.Error(r.Error)
	}
}

// TestRoomBesideStructures: what a large file system takes for itself is no room for files: what was accepted is kept.
func TestRoomBesideStructures(t *testing.T) {
	need(t)
	o := options(smallDisk(t, "300m"))
	o.Size = 8 << 40
	f, dir := newFS(t, o)
	until(t, "the structures are told", func() bool { return f.Report().Structures > 32*mb })
	file, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	written := fillUp(t, file)
	if err := file.Sync(); err != nil {
		t.Errorf("%d MB were accepted: %v", written>>20, err)
	}
	if written < 64*mb {
		t.Errorf("%d MB were accepted", written>>20)
	}
}

// TestRoomOfAnother: when somebody else has unmounted it, the keeper does not take the file system below for it.
func TestRoomOfAnother(t *testing.T) {
	need(t)
	f, err := Start(t.Context(), options(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := f.Attach(dir); err != nil {
		t.Fatal(err)
	}
	user, err := os.Create(filepath.Join(dir, "open"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := f.Room(); !ok {
		t.Error("its room is not known")
	}
	if err := sys.Unmount(dir, true); err != nil {
		t.Fatal(err)
	}
	if fs, ok := f.Room(); ok {
		t.Errorf("it has the room of another: %+v", fs)
	}
	reserve := filepath.Join("/sys/fs/ext4", f.device, "reserved_clusters")
	before, err := os.ReadFile(reserve)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * roomInterval)
	if after, err := os.ReadFile(reserve); err != nil || !bytes.Equal(before, after) {
		t.Errorf("%s is set aside, and %s was: %v", after, before, err)
	}
	if err := errors.Join(user.Close(), f.Close(false), f.Err()); err != nil {
		t.Error(err)
	}
}

// takeAll has somebody else take all the room of a disk at once, faster than anybody can look.
func takeAll(t *testing.T, disk string) (hog string) {
	t.Helper()
	on, err := sys.Statfs(disk)
	if err != nil {
		t.Fatal(err)
	}
	hog = filepath.Join(disk, "hog")
	file, err := os.Create(hog)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := syscall.Fallocate(int(file.Fd()), 0, 0, on.Avail); err != nil {
		t.Fatal(err)
	}
	return hog
}

// TestDiskFilledByAnother: what was accepted, and lies in the page cache only, is whole even though somebody else fills
// the disk before it is written out; it moves to the disk when there is room again.
func TestDiskFilledByAnother(t *testing.T) {
	need(t)
	o := options(smallDisk(t, "160m"))
	o.RAM = 16 * mb
	f, dir := newFS(t, o)
	file, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const written = 80 * mb
	block := make([]byte, mb)
	for at := int64(0); at < written; at += mb {
		fill(block, at)
		if _, err := file.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	hog := takeAll(t, o.Disk)
	if err := file.Sync(); err != nil {
		t.Errorf("what was accepted is lost: %v", err)
	}
	if err := dropCache(file); err != nil {
		t.Error(err)
	}
	same := func() {
		t.Helper()
		got := make([]byte, mb)
		for at := int64(0); at < written; at += mb {
			fill(block, at)
			if _, err := file.ReadAt(got, at); err != nil || !bytes.Equal(got, block) {
				t.Fatalf("MB %d differs, or %v", at>>20, err)
			}
		}
	}
	same()
	until(t, "nothing more is accepted", func() bool {
		_, err := file.WriteAt(block, written)
		return errors.Is(err, syscall.ENOSPC)
	})
	if r := f.Report(); r.RAM <= r.Budget {
		t.Errorf("nothing stays in RAM beyond its limit: %+v", r)
	}
	if err := os.Remove(hog); err != nil {
		t.Fatal(err)
	}
	until(t, "it moves to the disk", func() bool { r := f.Report(); return r.RAM <= r.Budget && r.Error == "" })
	if err := dropCache(file); err != nil {
		t.Error(err)
	}
	same()
}
