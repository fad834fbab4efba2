package supervisor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
	"github.com/ramaria-db/ramaria/internal/wheatfs"
)

const (
	// scratchShare is the part of the room that is free when the server starts, one in so
	// many, that its temporary files may take, and leastScratch what they may in any case.
	scratchShare = 2
	leastScratch = 64 << 20
	// wheatShare is the part of the machine's free memory, one in so many, that a wheatfs may have where nothing is
	// said: it has a disk.
	wheatShare = 4
)

// TmpDir is where the temporary files of a server lie. Each start of the server has one.
type TmpDir interface {
	// Path is the server's tmpdir.
	Path() string
	// Usage is how many bytes its files take, and how many they may take. ok is false if they have
	// no limit of their own, or if no server runs.
	Usage() (used, size int64, ok bool)
	// Close gives back what it takes, once its server has ended. It may be called more than once.
	Close() error
}

var (
	_ TmpDir = (*server.Scratch)(nil)
	_ TmpDir = directory("")
	_ TmpDir = (*wheat)(nil)
)

// directory is the instance's own directory, in the volume or below --tmpdir. It lasts as long as
// the instance, and its files take the room of the file system that it lies in.
type directory string

func (d directory) Path() string                     { return string(d) }
func (directory) Usage() (used, size int64, ok bool) { return 0, 0, false }
func (directory) Close() error                       { return nil }

// wheat is a wheatfs of the server's own (--tmpdir wheatfs).
type wheat struct {
	*server.Scratch
	fs *wheatfs.FS
}

// Usage is of the files, wherever they lie.
func (w *wheat) Usage() (used, size int64, ok bool) {
	fs, ok := w.fs.Room()
	return fs.Size - fs.Avail, fs.Size, ok
}

// wheatPatience is how long Close waits until the memory is free.
const wheatPatience = 5 * time.Second

// Close implements TmpDir.
func (w *wheat) Close() error {
	err := w.fs.Close(true)
	select {
	case <-w.fs.Gone():
	case <-time.After(wheatPatience): // a process of the server's is left, and has it
	}
	return err
}

// newTmpDir returns what chooseTmp says.
func (s *Supervisor) newTmpDir(ctx context.Context) (TmpDir, error) {
	kind, own := s.volume.Kind(), directory(s.inst.TmpDir())
	f := tmpFacts{asked: cmp.Or(s.inst.Tmp, s.inst.Spec.TmpDir), kind: kind}
	u, err := s.volume.Usage()
	if err == nil {
		f.data, err = sys.DiskUsage(s.inst.DataDir())
	}
	if err != nil {
		s.log.Warn("cannot measure the room for temporary files", "error", err)
		return own, nil
	}
	f.tmpfs = max(u.Free/scratchShare, leastScratch)
	if kind == volume.Disk {
		f.slow = host.Host{}.SlowWrites(s.volume.Dir())
	}
	f.noWheat = wheatfs.Check()
	for {
		is, why := chooseTmp(f)
		s.state.TmpDir = instance.TmpDirState{Kind: string(is), Why: why}
		switch is {
		case tmpOwn:
			return own, nil
		case tmpTmpfs:
			return s.newScratch(f.tmpfs), nil
		}
		t, err := s.newWheat(ctx, s.newScratch(f.tmpfs))
		if err == nil || f.asked != "" {
			return t, err
		}
		// What was not asked for keeps no server from its start.
		s.log.Warn("temporary files lie elsewhere", "error", err)
		f.noWheat = err
	}
}

// newScratch is a file system that the server alone sees: a tmpfs of so many bytes, unless it is given another.
func (s *Supervisor) newScratch(size int64) *server.Scratch {
	scratch := &server.Scratch{Dir: s.inst.TmpDir(), Size: size}
	if kind := s.volume.Kind(); kind == volume.XFS || kind == volume.Zram {
		scratch.Volume = s.volume.Dir()
		// Of all homes: /run/ramaria/HOME/KIND.
		scratch.Volumes = filepath.Dir(filepath.Dir(scratch.Volume))
	}
	if all, err := (wheatfs.Mounts{Dir: wheatfs.MountsDir}).List(); err == nil {
		for _, m := range all {
			scratch.Others = append(scratch.Others, m.Place)
		}
	}
	return scratch
}

// newWheat makes the scratch a wheatfs with as much RAM as --tmpdir says, or with as much as a tmpfs would have.
func (s *Supervisor) newWheat(ctx context.Context, scratch *server.Scratch) (TmpDir, error) {
	ram, _ := s.inst.Spec.Wheat()
	account := s.inst.Account
	if account == (server.Account{}) {
		account.UID, account.GID = os.Geteuid(), os.Getegid()
	}
	if ram == 0 {
		m, err := host.Host{}.Memory()
		if err != nil {
			return nil, err
		}
		free, _ := m.Room()
		ram = max(min(free/wheatShare, scratch.Size), leastScratch)
	}
	fs, err := wheatfs.Start(ctx, wheatfs.Options{
		RAM: ram, Disk: s.options.Spill, UID: account.UID, GID: account.GID, Mode: 0o700, Argv: wheatfs.DaemonArgv(Self()),
	})
	if err != nil {
		return nil, fmt.Errorf("use --tmpdir wheatfs: %w", err)
	}
	scratch.FS = fs.Mount()
	return &wheat{scratch, fs}, nil
}

// openTmpDir gives the next start of the server its TmpDir.
func (s *Supervisor) openTmpDir(ctx context.Context) error {
	if err := s.closeTmpDir(); err != nil {
		return err
	}
	next, err := s.newTmpDir(ctx)
	if err != nil {
		return err
	}
	s.tmpDir = next
	return nil
}

// scratch is the file system that the server alone sees, nil if it has none.
func (s *Supervisor) scratch() *server.Scratch {
	switch t := s.tmpDir.(type) {
	case *server.Scratch:
		return t
	case *wheat:
		return t.Scratch
	}
	return nil
}

// closeTmpDir closes that of a server that has ended, if there is one.
func (s *Supervisor) closeTmpDir() error {
	if s.tmpDir == nil {
		return nil
	}
	if err := s.tmpDir.Close(); err != nil {
		return fmt.Errorf("close tmpdir %s: %w", s.tmpDir.Path(), err)
	}
	return nil
}

// tmpWarning says that there is little room left for temporary files, "" if there is enough.
func (s *Supervisor) tmpWarning() string {
	if s.tmpDir == nil {
		return ""
	}
	if fs := s.wheatFS(); fs != nil {
		select {
		case <-fs.Gone():
			return fmt.Sprintf("temporary files fail: %v\nhint: ramaria down %s && ramaria up %s", fs.Err(), s.inst.Name, s.inst.Name)
		default:
		}
		if text := fs.Report().Error; text != "" {
			return "temporary files: " + text
		}
	}
	used, size, ok := s.tmpDir.Usage()
	if !ok || float64(used) < tmpShare*float64(size) {
		return ""
	}
	return fmt.Sprintf("the server's temporary files take %s of %s; sorts and temporary tables that need more fail\nhint: --tmpdir wheatfs, or DIR of a directory with more room, with --fresh", volume.FormatBytes(used), volume.FormatBytes(size))
}

// explainTmpDir adds to the error of a start that the server's account may not enter the directory
// of --tmpdir, where that is so.
func (s *Supervisor) explainTmpDir(err error) error {
	dir := s.inst.Spec.TmpDir
	if err == nil || dir == "" || s.inst.Account == (server.Account{}) {
		return err
	}
	shut := s.inst.Account.KeptOut(dir)
	if shut == "" {
		return err
	}
	return fmt.Errorf("use --tmpdir %s: the server runs as uid %d, which may not enter %s: %w\nhint: chmod o+x %s, or --tmpdir of a directory that uid %d may enter",
		dir, s.inst.Account.UID, shut, err, server.ShellQuote(shut), s.inst.Account.UID)
}

// wheatFS is the wheatfs that the server has, nil if it has none.
func (s *Supervisor) wheatFS() *wheatfs.FS {
	if w, is := s.tmpDir.(*wheat); is {
		return w.fs
	}
	return nil
}

// tmpGrain is the least change of what a wheatfs holds, in bytes, that is written to state.json.
const tmpGrain = 16 << 20

// tmpUsage has state.json say what a wheatfs holds, and reports whether that is worth writing.
func (s *Supervisor) tmpUsage() (changed bool) {
	fs := s.wheatFS()
	if fs == nil {
		return false
	}
	r, said := fs.Report(), &s.state.TmpDir
	if max(r.RAM-said.RAM, said.RAM-r.RAM, r.Disk-said.Disk, said.Disk-r.Disk, r.Budget-said.Limit, said.Limit-r.Budget) < tmpGrain {
		return false
	}
	said.RAM, said.Disk, said.Limit = r.RAM, r.Disk, r.Budget
	return true
}
