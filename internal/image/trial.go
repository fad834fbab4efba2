package image

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// TrialRequest asks for a server on what sources hold, which nobody keeps.
type TrialRequest struct {
	Recipe
	// Fill fills the data directory instead of sources, with Need bytes or so; nil leaves it to them. Name is what is
	// restored then.
	Fill func(ctx context.Context, data *os.Root) error
	Need int64
	Name string
	// Prepare makes the copied data directory one that a server starts on, such as that of a physical backup; nil does
	// nothing.
	Prepare func(ctx context.Context, d TrialDir) error
}

// TrialDir is the data directory of a trial before its server runs. Data and Tmp are owned by Account.
type TrialDir struct {
	Data, Tmp string
	Account   server.Account
}

// Trial is a server that runs on what sources hold. Only its maker may connect: it has no TCP, no events run, and it
// follows nobody.
type Trial struct {
	Server *server.Server
	Socket string
	Login  dbconn.Login
	// Took is how long it took to have the data, without what an empty server takes to be made.
	Took time.Duration
	// Ends are the last bytes of each dump, in order.
	Ends [][]byte
	// LogTail returns the end of the server's log.
	LogTail func() string
}

// UnfitError says that sources could not be brought to life, though there was a server for them and room.
type UnfitError struct{ error }

func (e UnfitError) Unwrap() error { return e.error }

// NewUnfitError is an UnfitError for what is wrong with sources before they are tried.
func NewUnfitError(err error) error { return UnfitError{err} }

// Try has a server run on what sources hold, without any image of it, and calls use with it. Nothing is left
// afterwards; what a killed Try leaves, Sweep removes.
func (s *Store) Try(ctx context.Context, q TrialRequest, use func(context.Context, Trial) error) (err error) {
	inputs, err := look(q.From)
	if err != nil {
		return err
	}
	if q.Fill != nil {
		inputs = []input{{kind: kindDataDir, name: q.Name}}
	}
	p := &plan{Recipe: q.Recipe, inputs: inputs, id: "trial-" + rand.Text()}
	if err := p.checkClient(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir(), 0o711); err != nil {
		return fmt.Errorf("restore %s: %w", p.origin(), err)
	}
	lock, err := sys.Lock(ctx, s.lockPath(p.id), sys.Exclusive, nil)
	if err != nil {
		return fmt.Errorf("restore %s: %w", p.origin(), err)
	}
	b := s.newBuild(p)
	b.trial = &q
	defer func() { err = errors.Join(err, b.clear(ctx), lock.UnlockRemove()) }()
	return b.try(ctx, use)
}

// try is the whole of a trial, step by step.
func (b *build) try(ctx context.Context, use func(context.Context, Trial) error) error {
	if err := b.checkRoom(ctx); err != nil {
		return err
	}
	ctx, stopWatch := b.watchRoom(ctx)
	defer stopWatch()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := b.lay(ctx); err != nil {
		return b.explain(ctx, err)
	}
	if !b.copies() {
		began = time.Now()
	}
	if err := b.revive(ctx); err != nil {
		return err
	}
	used := false
	err := b.serve(ctx, b.toLoad(), func(p *server.Process, _ dbconn.Passwordless) error {
		used = true
		return use(ctx, Trial{
			Server: b.Server, Socket: server.SocketPath(b.run), Login: b.login, Took: time.Since(began), Ends: b.ends,
			LogTail: func() string { return server.LogTail(b.logPath()) },
		})
	})
	switch {
	case err == nil:
		return nil
	case used:
		return b.explain(ctx, err)
	}
	return b.unfit(ctx, err)
}

// fill has the data directory filled by who asked for the trial. It is the caller's meanwhile: see copyDataDir.
func (b *build) fill(ctx context.Context) (err error) {
	if err := b.Account.Take(b.dataDir()); err != nil {
		return err
	}
	to, err := os.OpenRoot(b.dataDir())
	if err != nil {
		return err
	}
	if err := errors.Join(b.trial.Fill(ctx, to), to.Close()); err != nil {
		return b.unfit(ctx, err)
	}
	if err := b.refuseLeadingOut(); err != nil {
		return err
	}
	if b.older, err = checkMaker(b.dataDir(), b.Server); err != nil {
		return err
	}
	if err := server.CheckExternalTables(b.dataDir()); err != nil {
		return err
	}
	if b.image.PageSize, err = pageSize(b.dataDir()); err != nil {
		return b.blame(err)
	}
	return b.Account.GiveTree(b.dataDir())
}

// refuseLeadingOut refuses what was filled in if it has a server write elsewhere, as walkDataDir does of a directory.
func (b *build) refuseLeadingOut() error {
	return filepath.WalkDir(b.dataDir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if rel := strings.TrimPrefix(path, b.dataDir()+"/"); server.LeadsOut(rel, d.Type()) {
			return fmt.Errorf("restore %s: %s leads to a file elsewhere, which a server on it would write to\nhint: make the backup of a table without DATA DIRECTORY, or verify a dump", b.origin(), rel)
		}
		return nil
	})
}

// copies reports whether the trial begins with a copied data directory.
func (b *build) copies() bool { return len(b.inputs) > 0 && b.inputs[0].kind == kindDataDir }

// revive has a server recover a copied data directory.
func (b *build) revive(ctx context.Context) error {
	if !b.copies() {
		return nil
	}
	if prepare := b.trial.Prepare; prepare != nil {
		d := TrialDir{Data: b.dataDir(), Tmp: filepath.Join(b.dir, "tmp"), Account: b.Account}
		if err := prepare(ctx, d); err != nil {
			return b.explain(ctx, err)
		}
	}
	if err := b.settle(ctx); err != nil {
		return b.unfit(ctx, err)
	}
	return nil
}

// unfit is err as the sources' fault, but for an interrupt or a lack of room.
func (b *build) unfit(ctx context.Context, err error) error {
	if said := b.explain(ctx, err); !errors.Is(said, err) || ctx.Err() != nil {
		return said
	}
	return UnfitError{err}
}

// blame is err as the fault of what is copied, which a trial tells apart.
func (b *build) blame(err error) error {
	if b.trial == nil {
		return err
	}
	return UnfitError{err}
}

// doing is what the build does, for errors; working is the same where room is asked for.
func (b *build) doing() string {
	if b.trial != nil {
		return "restore " + b.origin()
	}
	return "build image of " + b.origin()
}

func (b *build) working() string {
	if b.trial != nil {
		return "restoring " + b.origin()
	}
	return "building the image of " + b.origin()
}

// endSize is how many of the last bytes of a dump are kept: its last line says when it was made.
const endSize = 512

// keepEnd has the end of a dump kept if a trial may ask for it.
func (b *build) keepEnd(dump io.Reader) io.Reader {
	if b.trial == nil {
		return dump
	}
	b.ends = append(b.ends, nil)
	return &endReader{dump, &b.ends[len(b.ends)-1]}
}

// endReader keeps the last bytes of what is read.
type endReader struct {
	io.Reader
	end *[]byte
}

func (r *endReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	end := append(*r.end, p[max(0, n-endSize):n]...)
	*r.end = append((*r.end)[:0], end[max(0, len(end)-endSize):]...)
	return n, err
}
