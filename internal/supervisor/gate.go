package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// A server commits while it starts: MariaDB's recovery of DDL that a kill cut off, events that have expired. Who would
// acknowledge that cannot connect yet, so it does not wait; and nobody hears of it, so it need not. But sessions would see
// it, and it is to be archived before they do. Both flavours let nobody in before they have read their init file, and
// read it when they have recovered. So the init file of a server whose commits wait for the archive is a FIFO: its
// first statements have commits wait, and the rest comes when all that was committed before is archived.
// https://dev.mysql.com/doc/refman/en/server-system-variables.html#sysvar_init_file

// gate is what the server reads through the FIFO: first, and when all is archived the rest. nil for a plain init file.
type gate struct{ first, rest string }

// behind is read behind first: what follows a statement is read when that was executed.
const behind = "DO 0;\n"

// gated reports whether commits of the server wait for its archive as soon as somebody can connect.
func (s *Supervisor) gated() bool {
	return s.keeper != nil && (!s.isMember() || s.inGroup())
}

// writeInit writes the init file, or makes the gate that is read in its place.
func (s *Supervisor) writeInit(first, rest string) (err error) {
	i := s.inst
	s.gate = nil
	if !s.gated() {
		return server.WritePrivate(initFile(i), []byte(first+rest), i.Account)
	}
	s.gate = &gate{first + i.Server.WaitSQL(s.level()) + ";\n", rest}
	if err := removeIn(i.RunDir, filepath.Base(initFile(i))); err != nil {
		return err
	}
	dir, err := sys.OpenDir(i.RunDir)
	if err != nil {
		return err
	}
	defer dir.CloseWith(&err)
	return dir.MakeFIFO(filepath.Base(initFile(i)), i.Account.UID, i.Account.GID)
}

// openGate lets a server that starts go on when the archive has what it has committed until then. An error of a server
// that has ended is for Ready to tell.
func (s *Supervisor) openGate(ctx context.Context) error {
	if s.gate == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.proc.Done():
			cancel(errServerEnded)
		case <-ctx.Done():
		}
	}()
	err := s.passGate(ctx)
	if errors.Is(context.Cause(ctx), errServerEnded) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("archive what the server wrote while it started: %w", err)
	}
	return nil
}

var errServerEnded = errors.New("the server has ended")

func (s *Supervisor) passGate(ctx context.Context) (err error) {
	recovering, cancel := context.WithTimeout(ctx, server.StartTimeout)
	defer cancel()
	path := initFile(s.inst)
	var pipe *sys.FIFO
	defer func() {
		if pipe != nil {
			err = errors.Join(err, pipe.Close())
		}
	}()
	if err := s.unlessDeaf(recovering, func(ctx context.Context) (err error) {
		if pipe, err = sys.OpenFIFO(ctx, filepath.Dir(path), filepath.Base(path)); err != nil {
			return err
		}
		for _, text := range []string{s.gate.first, behind} {
			if _, err := io.WriteString(pipe, text); err != nil {
				return err
			}
			if err := pipe.Drained(ctx); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := s.keeper.TakeIn(ctx, s.waitForArchive); err != nil {
		return err
	}
	s.state.Warnings = nil
	if _, err := io.WriteString(pipe, s.gate.rest); err != nil {
		return err
	}
	return removeIn(s.inst.RunDir, filepath.Base(path)) // who is not let in by it would wait for a writer
}
