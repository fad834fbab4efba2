package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// build is one image in the making: a directory that becomes the image by a
// rename, and the lock that keeps others from making it too.
type build struct {
	*Store
	*plan
	image *Image
	dir   string
	run   string
	port  int
	login dbconn.Login
	app   dbconn.Login
	// copied is what was copied from an instance, nil if nothing was.
	copied *InstanceData
	// older says that a server of an older series wrote what was copied.
	older bool
	// lastLog is the binary log that was copied for settle, "" for none.
	lastLog string
	// loaded are the dumps so far.
	loaded []loaded
	// accounts says that a dump wrote to the server's own databases, where the accounts are.
	accounts bool
	// trial is what the server is for if it is thrown away; nil for an image.
	trial *TrialRequest
	// ends are the last bytes of the dumps of a trial.
	ends [][]byte
}

func (b *build) dataDir() string { return filepath.Join(b.dir, "data") }
func (b *build) logPath() string { return filepath.Join(b.dir, "server.log") }

// buildOnce restores the plan's image if it was saved, and else builds it.
func (s *Store) buildOnce(ctx context.Context, p *plan) (*Lease, error) {
	return s.once(ctx, p.id, "another process is building the image of "+p.origin(), func() (*Lease, error) {
		l, err := s.restore(ctx, p.id)
		if damage, ok := isDamaged(err); ok {
			s.say("saved image %s cannot be used (%v): building it again; ramaria image rm --saved %s removes it\n", p.id, damage.Err, p.id)
		} else if !errors.Is(err, ErrNotFound) {
			return l, err
		} else if l, err := s.fetch(ctx, p); !errors.Is(err, ErrNotFound) {
			return l, err
		}
		return s.build(ctx, p)
	})
}

// build builds the plan's image. The caller holds the lock of its id.
func (s *Store) build(ctx context.Context, p *plan) (l *Lease, err error) {
	if err := p.checkClient(); err != nil {
		return nil, err
	}
	b := s.newBuild(p)
	// After a success the directory is the image; after a failure nothing stays.
	defer func() { err = errors.Join(err, b.clear(ctx)) }()
	return b.make(ctx)
}

func (s *Store) newBuild(p *plan) *build {
	return &build{
		Store: s, plan: p, dir: s.buildDir(p.id), run: s.runDir(s.buildDir(p.id)),
		login: dbconn.Login{User: dbconn.SupervisorUser, Password: dbconn.NewPassword()},
		app:   dbconn.Login{User: p.User, Password: dbconn.NewPassword()},
		image: &Image{Format: Format, ID: p.id, Origin: p.origin(), Flavour: p.Server.Flavour, Version: p.Server.Version, Shape: p.Server.Shape(p.Set)},
	}
}

// clear removes the directories of a build, also after an interrupt.
func (b *build) clear(ctx context.Context) error {
	return errors.Join(b.Volume.Remove(context.WithoutCancel(ctx), b.dir), b.removeRunDir(b.dir))
}

// make is the whole of building, step by step.
func (b *build) make(ctx context.Context) (*Lease, error) {
	started := time.Now()
	if err := b.checkRoom(ctx); err != nil {
		return nil, err
	}
	ctx, stopWatch := b.watchRoom(ctx)
	defer stopWatch()
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	if err := b.lay(ctx); err != nil {
		return nil, b.explain(ctx, err)
	}
	if err := b.load(ctx); err != nil {
		return nil, b.explain(ctx, err)
	}
	if err := b.settle(ctx); err != nil {
		return nil, b.explain(ctx, err)
	}
	if err := b.trim(ctx); err != nil {
		return nil, b.explain(ctx, err)
	}
	b.image.BuildSeconds = time.Since(started).Seconds()
	return b.publish()
}

// publish makes the directory the image.
func (b *build) publish() (*Lease, error) {
	b.image.Created = time.Now().Truncate(time.Second) // never in the future
	return b.Store.publish(b.image, b.dir)
}

// prepare makes the directories, with the server's own account as owner of those
// that it writes to.
func (b *build) prepare(ctx context.Context) error {
	if err := b.Volume.Remove(ctx, b.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(b.dir, 0o711); err != nil {
		return fmt.Errorf("build image: %w", err)
	}
	return server.MakeDirs(b.Account, b.dataDir(), b.run, filepath.Join(b.dir, "tmp"))
}

// lay puts the first data directory in place: a copied one, that of another
// image, or a fresh one.
func (b *build) lay(ctx context.Context) error {
	if len(b.inputs) == 0 {
		return b.bootstrap(ctx)
	}
	if b.trial != nil && b.trial.Fill != nil {
		return b.fill(ctx)
	}
	switch first := b.inputs[0]; first.kind {
	case kindDataDir:
		if err := b.copyDataDir(ctx, first.path); err != nil || len(b.inputs) == 1 && !b.older || b.trial != nil {
			return err
		}
		return b.settle(ctx) // before a server loads the rest
	case kindInstance:
		return b.copyInstance(ctx, first.path)
	case kindImage:
		l, err := b.Get(ctx, first.path, b.Server)
		if err != nil {
			return err
		}
		return b.cloneImage(ctx, l)
	}
	l, err := b.Ensure(ctx, b.base())
	if err != nil {
		return err
	}
	return b.cloneImage(ctx, l)
}

func (b *build) cloneImage(ctx context.Context, l *Lease) error {
	defer l.Release()
	b.image.PageSize = l.PageSize
	b.image.Database = l.Database
	if err := os.Remove(b.dataDir()); err != nil {
		return fmt.Errorf("clone image %s: %w", l.ID, err)
	}
	if err := b.Volume.Clone(ctx, l.DataDir(), b.dataDir()); err != nil {
		return err
	}
	return b.Account.TakeOver(b.dataDir())
}

func (b *build) bootstrap(ctx context.Context) error {
	b.say("initializing %s %s\n", b.Server.Flavour, b.Server.Version)
	b.image.Database = b.Database
	c := b.start(server.Bootstrap, 0)
	config, err := b.config(c)
	if err != nil {
		return err
	}
	return b.Server.Bootstrap(ctx, config, c, b.dir, b.logPath(), b.Account)
}

// copyDataDir copies a stopped server's data directory. The account that the server
// runs under gets the copy when it is complete: a process of that account, which
// may be another server, could otherwise lead the copying astray by links.
func (b *build) copyDataDir(ctx context.Context, dir string) error {
	b.say("copying data directory %s\n", dir)
	if err := checkStopped(dir); err != nil {
		return err
	}
	var err error
	if b.older, err = checkMaker(dir, b.Server); err != nil {
		return err
	}
	if err := server.CheckExternalTables(dir); err != nil {
		return err
	}
	if b.image.PageSize, err = pageSize(dir); err != nil {
		return b.blame(err)
	}
	if err := b.Account.Take(b.dataDir()); err != nil {
		return err
	}
	if entries, err := os.ReadDir(b.dataDir()); err != nil || len(entries) > 0 {
		return fmt.Errorf("copy data directory: %s is not empty: %w", b.dataDir(), errors.Join(err, fs.ErrExist))
	}
	if err := b.copyFiles(ctx, dir); err != nil {
		return err
	}
	if err := checkStopped(dir); err != nil {
		return err
	}
	b.image.Database = b.Database
	if b.image.Database == "" {
		b.image.Database = onlyDatabase(b.dataDir())
	}
	if err := b.Account.GiveTree(b.dataDir()); err != nil {
		return err
	}
	return b.keepLastLog(ctx, dir)
}

// copyFiles copies what belongs into an image of the data directory dir. Its owner, who may be a
// server, can replace what is walked over; so nothing is opened that leads out of it.
func (b *build) copyFiles(ctx context.Context, dir string) (err error) {
	from, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("copy data directory: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := os.OpenRoot(b.dataDir())
	if err != nil {
		return fmt.Errorf("copy data directory: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return walkDataDir(dir, func(rel string, d fs.DirEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.IsDir() {
			return to.Mkdir(rel, 0o700)
		}
		return copyFile(ctx, to, from, rel)
	})
}

// copyFile copies the regular file rel of one directory to another, where it must not exist.
func copyFile(ctx context.Context, to, from *os.Root, rel string) (err error) {
	in, err := from.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if fi, err := in.Stat(); err != nil || !fi.Mode().IsRegular() {
		return fmt.Errorf("copy file %s: %w", rel, errors.Join(err, sys.ErrNotPlain))
	}
	out, err := to.OpenFile(rel, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	return errors.Join(sys.CopyFile(ctx, out, in), out.Close())
}

// walkRoot calls f for all that is below dir. Nothing that f does by way of root leads out of it.
func walkRoot(dir string, f func(root *os.Root, path string, d fs.DirEntry) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		return f(root, path, d)
	})
	return errors.Join(err, root.Close())
}

// onlyDatabase returns the name of the only database of applications in a data
// directory, or "".
func onlyDatabase(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		// Other characters are encoded in the directory's name (@002d).
		if name := e.Name(); e.IsDir() && !dbconn.SystemSchema(name) && name != "test" && name != "lost+found" && !strings.ContainsAny(name, "#@.") {
			names = append(names, name)
		}
	}
	if len(names) != 1 {
		return ""
	}
	return names[0]
}

// start is what a start for one stage is configured by.
func (b *build) start(stage server.Stage, port int) server.Config {
	initFile := ""
	if stage == server.Build {
		initFile = filepath.Join(b.run, "init.sql")
	}
	return server.Config{
		Stage: stage, Volume: string(b.Volume.Kind()), DataDir: b.dataDir(), RunDir: b.run, TmpDir: filepath.Join(b.dir, "tmp"),
		InitFile: initFile, Port: port, PageSize: b.image.PageSize, Set: b.Set, Unconfined: b.Unconfined,
	}
}

// config writes the option file of a start and returns its path.
func (b *build) config(c server.Config) (string, error) {
	text, err := b.Server.Render(c)
	if err != nil {
		return "", err
	}
	return b.writeConfig(text)
}

func (b *build) writeConfig(text string) (path string, err error) {
	path = filepath.Join(b.run, "my.cnf")
	return path, server.WritePrivate(path, []byte(text), b.Account)
}

// trim leaves nothing in the image but data, and gives back the blocks of zeros.
// Meanwhile the data directory is the caller's, since a process of the server's
// account could replace what is walked over.
func (b *build) trim(ctx context.Context) error {
	for _, path := range []string{b.run, filepath.Join(b.dir, "tmp"), b.logPath()} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("trim image: %w", err)
		}
	}
	if err := b.Account.Take(b.dataDir()); err != nil {
		return fmt.Errorf("trim image: %w", err)
	}
	err := walkRoot(b.dataDir(), func(root *os.Root, path string, d fs.DirEntry) error {
		if err := ctx.Err(); err != nil || !d.Type().IsRegular() {
			return err
		}
		if server.Transient(path) || b.Server.Spare(path, len(b.inputs) == 0) {
			return root.Remove(path)
		}
		f, err := root.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		_, err = sys.DigHolesIn(f)
		return errors.Join(err, f.Close())
	})
	if err == nil {
		b.image.Size, err = sys.DiskUsage(b.dataDir())
	}
	if err == nil && b.Account != (server.Account{}) {
		err = os.Lchown(b.dataDir(), b.Account.UID, b.Account.GID)
	}
	if err != nil {
		return fmt.Errorf("trim image: %w", err)
	}
	return nil
}

// explain says why a build failed: what cancelled it, a full volume, or err.
func (b *build) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ctx.Err()) { // see watchRoom
		return fmt.Errorf("%s: %w", b.doing(), cause)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: interrupted, nothing is left of it: %w", b.doing(), ctx.Err())
	}
	// The last of the room may go between two looks of watchRoom.
	var full *volume.NoRoomError
	if errors.As(b.checkMinRoom(), &full) {
		return fmt.Errorf("%s: %w", b.doing(), full)
	}
	return err
}
