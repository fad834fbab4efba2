package supervisor

import (
	"fmt"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// scratchShare is the part of the room that is free when the server starts, one in so
	// many, that its temporary files may take, and leastScratch what they may in any case.
	scratchShare = 2
	leastScratch = 64 << 20
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
)

// directory is the instance's own directory, in the volume or below --tmpdir. It lasts as long as
// the instance, and its files take the room of the file system that it lies in.
type directory string

func (d directory) Path() string                     { return string(d) }
func (directory) Usage() (used, size int64, ok bool) { return 0, 0, false }
func (directory) Close() error                       { return nil }

// newTmpDir returns a tmpfs of the server's own, or the directory as it is: where the user said
// so, and where the volume is nothing that a tmpfs would be faster than.
func (s *Supervisor) newTmpDir() TmpDir {
	kind, own := s.volume.Kind(), directory(s.inst.TmpDir())
	if s.inst.Tmp != "" || kind != volume.XFS && kind != volume.Zram {
		return own
	}
	u, err := s.volume.Usage()
	if err != nil {
		s.log.Warn("cannot measure the room for temporary files", "error", err)
		return own
	}
	dir := s.volume.Dir()
	return &server.Scratch{
		Dir: own.Path(), Size: max(u.Free/scratchShare, leastScratch),
		// Of all homes: /run/ramaria/HOME/KIND.
		Volume: dir, Volumes: filepath.Dir(filepath.Dir(dir)),
	}
}

// openTmpDir gives the next start of the server its TmpDir.
func (s *Supervisor) openTmpDir() error {
	err := s.closeTmpDir()
	s.tmpDir = s.newTmpDir()
	return err
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
	used, size, ok := s.tmpDir.Usage()
	if !ok || float64(used) < tmpShare*float64(size) {
		return ""
	}
	return fmt.Sprintf("the server's temporary files take %s of %s; sorts and temporary tables that need more fail\nhint: --tmpdir DIR of a directory with more room, with --fresh", volume.FormatBytes(used), volume.FormatBytes(size))
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
