package supervisor

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// roomy is a volume of a kind, with room.
type roomy struct {
	volume.Volume
	kind volume.Kind
}

func (r roomy) Kind() volume.Kind          { return r.kind }
func (roomy) Dir() string                  { return "/run/ramaria/home/kind" }
func (roomy) Usage() (volume.Usage, error) { return volume.Usage{Free: 1 << 30}, nil }

// TestTmpDir: where temporary files lie on each kind of volume. One whose server does not run
// measures nothing, and each may be closed more than once.
func TestTmpDir(t *testing.T) {
	for _, c := range []struct {
		name    string
		kind    volume.Kind
		tmp     string // below --tmpdir
		path    string
		scratch bool
	}{
		{"xfs", volume.XFS, "", "/i/tmp", true},
		{"zram", volume.Zram, "", "/i/tmp", true},
		{"tmpfs", volume.Tmpfs, "", "/i/tmp", false},
		{"shm", volume.Shm, "", "/i/tmp", false},
		{"disk", volume.Disk, "", "/i/tmp", false},
		{"xfs and --tmpdir", volume.XFS, "/var/tmp/ramaria-a-1", "/var/tmp/ramaria-a-1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Supervisor{volume: roomy{kind: c.kind}, inst: &instance.Instance{Record: instance.Record{Dir: "/i", Tmp: c.tmp}}}
			if text := s.tmpWarning(); text != "" {
				t.Errorf("before the start: %q", text)
			}
			if err := s.openTmpDir(t.Context()); err != nil {
				t.Fatal(err)
			}
			scratch, is := s.tmpDir.(*server.Scratch)
			if s.tmpDir.Path() != c.path || is != c.scratch {
				t.Errorf("it is %s, a tmpfs: %v", s.tmpDir.Path(), is)
			}
			if is && (scratch.Size != 1<<30/scratchShare || scratch.Volumes != "/run/ramaria") {
				t.Errorf("a tmpfs of %d bytes, beside those in %s", scratch.Size, scratch.Volumes)
			}
			if _, _, ok := s.tmpDir.Usage(); ok || s.tmpWarning() != "" {
				t.Error("it measures what is not there")
			}
			first := s.tmpDir
			if err := s.openTmpDir(t.Context()); err != nil { // of the next start
				t.Fatal(err)
			}
			if c.scratch && s.tmpDir == first {
				t.Error("two starts have the same tmpfs")
			}
			for range 2 {
				if err := s.closeTmpDir(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
