package template

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// TestCopyTablesBeneath: what a server's account puts in the place of a database's directory, or
// of a table's file, leads root nowhere. Root copies the files of tables for it.
func TestCopyTablesBeneath(t *testing.T) {
	ids := map[string]uint32{"t": 5}
	for name, plant := range map[string]func(data, victim string) error{
		"a link for the clone's directory": func(data, victim string) error {
			return errors.Join(os.Remove(filepath.Join(data, "shop_1")), os.Symlink(victim, filepath.Join(data, "shop_1")))
		},
		"a link for the template's directory": func(data, victim string) error {
			return errors.Join(os.RemoveAll(filepath.Join(data, "shop")), os.Symlink(victim, filepath.Join(data, "shop")))
		},
		"a link for a table's file": func(data, victim string) error {
			path := filepath.Join(data, "shop", "t.cfg")
			return errors.Join(os.Remove(path), os.Symlink(filepath.Join(victim, "t.cfg"), path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, victim := t.TempDir(), t.TempDir()
			for _, dir := range []string{"shop", "shop_1"} {
				if err := os.Mkdir(filepath.Join(data, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for _, path := range []string{filepath.Join(data, "shop", "t.cfg"), filepath.Join(data, "shop", "t.ibd"), filepath.Join(victim, "t.cfg")} {
				if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := plant(data, victim); err != nil {
				t.Fatal(err)
			}
			f := &Files{DataDir: data, UID: os.Geteuid(), GID: os.Getegid()}
			if err := f.copyTables(t.Context(), "shop", "shop_1", []string{"t"}, ids); !errors.Is(err, sys.ErrNotPlain) {
				t.Errorf("copied: %v", err)
			}
			f.removeMetadata("shop_1", []string{"t"})
			entries, err := os.ReadDir(victim)
			if err != nil || len(entries) != 1 {
				t.Errorf("the victim holds %v (%v)", entries, err)
			}
			clone := filepath.Join(data, "shop_1")
			if fi, err := os.Lstat(clone); err != nil || !fi.IsDir() {
				return
			}
			if entries, err := os.ReadDir(clone); err != nil || len(entries) > 0 {
				t.Errorf("what the link leads to was copied: %v (%v)", entries, err)
			}
		})
	}
	// A FIFO does not block.
	data := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(data, "shop"), 0o700), os.Mkdir(filepath.Join(data, "shop_1"), 0o700), syscall.Mkfifo(filepath.Join(data, "shop", "t.cfg"), 0o600)); err != nil {
		t.Fatal(err)
	}
	within := time.AfterFunc(2*time.Minute, func() { panic("it waits for who writes to a FIFO") })
	defer within.Stop()
	if err := (&Files{DataDir: data}).copyTables(t.Context(), "shop", "shop_1", []string{"t"}, ids); !errors.Is(err, sys.ErrNotPlain) {
		t.Errorf("copied a FIFO: %v", err)
	}
}
