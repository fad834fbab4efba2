package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// exec runs a command that fills the server.
func (b *build) exec(ctx context.Context, s input) error {
	if b.image.Database == "" {
		b.image.Database = DefaultDatabase
	}
	if err := b.createDatabase(ctx, b.image.Database); err != nil {
		return err
	}
	// Beside what becomes the image, and gone before it does.
	home, endpoint := filepath.Join(b.dir, "client"), b.endpoint(b.app, b.image.Database)
	if err := server.WriteClientHome(home, endpoint); err != nil {
		return err
	}
	defer os.RemoveAll(home)
	b.say("running %s\n", s.path)
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", s.path)
	// Not of another instance, of which the caller's shell may have been told.
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "RAMARIA_API=") || strings.HasPrefix(kv, "RAMARIA_INSTANCE=")
	})
	cmd.Env = slices.Concat(env, endpoint.Env(home))
	// The command's output goes to stderr: stdout belongs to ramaria's own answer.
	cmd.Stdout, cmd.Stderr = b.Talk, b.Talk
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("run %s: %w; no image was kept\nhint: it must exit with 0 when the data is complete", s.name, err)
	}
	return nil
}
