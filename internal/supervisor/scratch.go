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

// scratch is the tmpfs for the server's temporary files, nil where they lie in tmpdir as it is:
// where the user said so, and where the volume is nothing that a tmpfs would be faster than.
func (s *Supervisor) scratch() *server.Scratch {
	kind := s.volume.Kind()
	if s.inst.Tmp != "" || kind != volume.XFS && kind != volume.Zram {
		return nil
	}
	u, err := s.volume.Usage()
	if err != nil {
		s.log.Warn("cannot measure the room for temporary files", "error", err)
		return nil
	}
	dir := s.volume.Dir()
	return &server.Scratch{
		Dir: s.inst.TmpDir(), Size: max(u.Free/scratchShare, leastScratch),
		// Of all homes: /run/ramaria/HOME/KIND.
		Volume: dir, Volumes: filepath.Dir(filepath.Dir(dir)),
	}
}

// scratchWarning says that there is little room left for temporary files, "" if there is enough.
func (s *Supervisor) scratchWarning() string {
	used, size, ok := s.proc.ScratchUsage()
	if !ok || float64(used) < WarnShare*float64(size) {
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
