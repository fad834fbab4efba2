package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// BaseOrder is what the process that makes a base backup is told, on its standard input.
type BaseOrder struct {
	// Name is the instance's, Dir the directory with the snapshot, RunDir for the socket of the
	// server that proves it.
	Name, Dir, RunDir string
	// Archive is the archive's directory, ID its id, Base the id of the new base, Prev that of the one
	// before.
	Archive    string
	ID         archive.ID
	Base, Prev uint32
}

// MakeBase makes a base backup while the server works: of a snapshot, by a process of its own.
func (s *Supervisor) MakeBase(ctx context.Context) (archive.Base, error) {
	if s.keeper == nil {
		return archive.Base{}, errors.New("the instance is not durable")
	}
	s.basing.Lock()
	defer s.basing.Unlock()
	dir := filepath.Join(s.inst.Dir, "base")
	if err := s.volume.Remove(ctx, dir); err != nil {
		return archive.Base{}, err
	}
	defer func() { _ = s.volume.Remove(context.WithoutCancel(ctx), dir) }() // the next one, or the next start, removes it
	if err := os.Mkdir(dir, 0o711); err != nil {
		return archive.Base{}, fmt.Errorf("make a base backup: %w", err)
	}
	if _, err := s.snapshot(ctx, "a base backup", s.volume, func(ctx context.Context, how volume.How) error {
		how.Filter = server.CloneFilter
		return s.volume.Snapshot(ctx, s.inst.DataDir(), filepath.Join(dir, "data"), how)
	}); err != nil {
		return archive.Base{}, fmt.Errorf("make a base backup: %w", err)
	}
	o := s.keeper.NextBase()
	order := BaseOrder{Name: s.inst.Name, Dir: dir, RunDir: s.inst.RunDir + "-base", Archive: s.archiveDir, ID: o.ID, Base: o.Number, Prev: o.Prev}
	defer func() { _ = sys.RemoveTree(order.RunDir) }()
	b, err := s.runBase(ctx, order)
	if err != nil {
		return archive.Base{}, fmt.Errorf("make a base backup: %w", err)
	}
	return s.keeper.AddBase(b)
}

// runBase runs the process that proves a snapshot and writes it into the archive. It is another one, since
// its work is long and must not be in the way of commits.
func (s *Supervisor) runBase(ctx context.Context, o BaseOrder) (b archive.Base, err error) {
	text, err := json.Marshal(o)
	if err != nil {
		return b, err
	}
	argv := s.argv(s.inst.Name)
	argv[1] = "make-base"                                 // instead of supervise
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- this program
	cmd.Dir = "/"
	cmd.Stdin = bytes.NewReader(text)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		return b, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	err = json.Unmarshal(out.Bytes(), &b)
	return b, err
}
