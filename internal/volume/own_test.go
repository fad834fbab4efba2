package volume_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func TestOwnDirectory(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(dir string) error
		want string // in the error; "" for none
		root bool   // can only be made by root
	}{
		{name: "absent", make: func(string) error { return nil }},
		{name: "ours and closed", make: func(d string) error { return os.Mkdir(d, 0o700) }},
		{name: "ours, open to reading", make: func(d string) error { return os.Mkdir(d, 0o755) }},
		{name: "ours, open to writing", make: func(d string) error {
			if err := os.Mkdir(d, 0o700); err != nil {
				return err
			}
			return os.Chmod(d, 0o777)
		}, want: "others may write to it"},
		{name: "symbolic link", make: func(d string) error { return os.Symlink(t.TempDir(), d) }, want: "symbolic link"},
		{name: "dangling link", make: func(d string) error { return os.Symlink("nowhere", d) }, want: "symbolic link"},
		{name: "file", make: func(d string) error { return os.WriteFile(d, nil, 0o600) }, want: "not a directory"},
		{name: "another user's", make: func(d string) error {
			if err := os.Mkdir(d, 0o700); err != nil {
				return err
			}
			return os.Chown(d, nobody, nobody)
		}, want: "it belongs to uid 65534, not to you", root: true},
		{name: "link inside", make: func(d string) error {
			if err := os.Mkdir(d, 0o700); err != nil {
				return err
			}
			return os.Symlink(t.TempDir(), filepath.Join(d, "images"))
		}, want: "symbolic link"},
	} {
		for _, kind := range []volume.Kind{volume.Shm, volume.Disk} {
			t.Run(c.name+"/"+string(kind), func(t *testing.T) {
				if c.root && os.Geteuid() != 0 {
					t.Skip("SKIPPED: takes root")
				}
				dir := filepath.Join(t.TempDir(), "v")
				if err := c.make(dir); err != nil {
					t.Fatal(err)
				}
				_, err := (&volume.Opener{Places: host.Places{Shm: dir, Disk: dir}}).Open(t.Context(), volume.Spec{Kind: kind})
				if c.want == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "\nhint: ") {
					t.Errorf("got %v, want an error with %q and a hint", err, c.want)
				}
			})
		}
	}
}

// TestOwnShmOfAnother is what an ordinary user sees of a directory of root's.
func TestOwnShmOfAnother(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may do everything: see TestAsOrdinaryUser")
	}
	_, err := (&volume.Opener{Places: host.Places{Shm: "/root"}}).Open(t.Context(), volume.Spec{Kind: volume.Shm})
	if err == nil || !strings.Contains(err.Error(), "it belongs to uid 0, not to you") {
		t.Errorf("got %v", err)
	}
}
