package image

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// small is a volume with so much room for everything.
type small struct {
	roomy
	dir string
}

func (s *small) Dir() string { return s.dir }

func (s *small) Usage() (volume.Usage, error) {
	used, err := sys.DiskUsage(s.dir)
	return volume.Usage{Free: s.free - used, Size: s.free}, err
}

// endless is read for ever.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 0
	}
	return len(p), nil
}

// TestSpoolRoom leaves room in the volume, of what says its size and of what does not.
func TestSpoolRoom(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Spooled
		full bool
	}{
		{"fits", Spooled{Name: "shop.sql.gz", Size: 1 << 20, From: io.LimitReader(endless{}, 1<<20)}, false},
		{"fits, of a size that is not known", Spooled{From: io.LimitReader(endless{}, 10<<20), Size: -1}, false},
		{"says that it is too large", Spooled{Name: "shop.sql.gz", Size: 30 << 20, From: strings.NewReader("")}, true},
		{"never ends", Spooled{Name: "shop.sql.gz", Size: -1, From: endless{}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := &small{roomy{free: minRoom + 20<<20}, t.TempDir()}
			s := &Store{Volume: v}
			sp, err := s.Spool(t.Context(), c.in)
			var full *volume.NoRoomError
			if errors.As(err, &full) != c.full || !c.full && err != nil {
				t.Errorf("the error is %v", err)
			}
			if err == nil {
				if want := map[bool]string{true: "app.sql", false: c.in.Name}[c.in.Name == ""]; filepath.Base(sp.Path) != want {
					t.Errorf("the copy is %s, want %s", sp.Path, want)
				}
				got, err := lookAtPath(sp.Path)
				if want := map[bool]string{true: "standard input", false: c.in.Name}[c.in.Name == ""]; err != nil || got[0].name != want || got[0].called() != want {
					t.Errorf("it is called %+v, %v", got, err)
				}
				if err := sp.Close(); err != nil {
					t.Error(err)
				}
			}
			if left, err := os.ReadDir(s.dir()); err != nil || len(left) > 0 {
				t.Errorf("left are %v, %v", left, err)
			}
		})
	}
}

// TestURLSources tells dumps at URLs from images in buckets, and keeps secrets out of records and messages.
func TestURLSources(t *testing.T) {
	from := ParseSources([]string{"https://me:hush@host/shop.sql?signature=hush", "s3://bucket/dumps/shop.sql.gz", "s3://bucket/images/0123456789abcdef?endpoint=http://host"})
	want := []Source{{FromURL, "https://me:hush@host/shop.sql?signature=hush"}, {FromURL, "s3://bucket/dumps/shop.sql.gz"}, {FromBucket, "s3://bucket/images/0123456789abcdef?endpoint=http://host"}}
	if d := cmp.Diff(want, from); d != "" {
		t.Error(d)
	}
	text, err := json.Marshal(from)
	if want := `["https://host/shop.sql","s3://bucket/dumps/shop.sql.gz","s3://bucket/images/0123456789abcdef?endpoint=http://host"]`; err != nil || string(text) != want {
		t.Errorf("recorded %s, %v", text, err)
	}
	if err := CheckSources(from); err != nil {
		t.Error(err)
	}
	if err := CheckSources(ParseSources([]string{"http://host/shop.sql?signature=hush"})); !errors.Is(err, ErrUsage) || strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
	if _, err := look(from); err == nil || strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
}
