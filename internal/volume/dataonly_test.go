package volume_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestMountedServesDataOnly: an account that may write to a volume, as a server's may, makes no
// link there that is followed, and no program that can be run.
func TestMountedServesDataOnly(t *testing.T) {
	for _, kind := range mountedKinds {
		t.Run(string(kind), func(t *testing.T) {
			p := mountedPlaces(t)
			dir := openKind(t, p, volume.Spec{Kind: kind, Size: smallSize}).Dir()
			link, program := filepath.Join(dir, "link"), filepath.Join(dir, "program")
			if err := errors.Join(os.Symlink("/etc/passwd", link), os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700)); err != nil {
				t.Fatal(err)
			}
			if _, err := os.ReadFile(link); !errors.Is(err, syscall.ELOOP) {
				t.Errorf("a link is followed: %v", err)
			}
			if err := exec.Command(program).Run(); !errors.Is(err, syscall.EACCES) {
				t.Errorf("a program is run: %v", err)
			}
			if to, err := os.Readlink(link); err != nil || to != "/etc/passwd" {
				t.Errorf("a link cannot be copied: %q, %v", to, err)
			}
		})
	}
}
