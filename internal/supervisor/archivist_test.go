package supervisor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
)

func TestArchiveWarnings(t *testing.T) {
	began := time.Now()
	well := durable.Report{Within: 30 * time.Second, Recovery: 10 * time.Second, RoomForBase: true, Newest: archive.Base{Time: began}, Verified: began}
	failed := attempt{at: began.Add(time.Minute), err: errors.New("write base 2: no space left on device\nhint: make room")}
	for _, c := range []struct {
		name  string
		level string
		does  func(a *archivist, r *durable.Report)
		want  []string // parts of one warning each
	}{
		{"all is well", "commit", func(*archivist, *durable.Report) {}, nil},
		{"low", "commit", func(a *archivist, _ *durable.Report) { a.low = true }, []string{"less than 1 GB of room for the archive in /a: its history is shortened to what recovery needs, and when there is no room at all, commits wait"}},
		{"low, with an interval", "1s", func(a *archivist, _ *durable.Report) { a.low = true }, []string{"when there is no room at all, commits wait when they are 1s ahead of it"}},
		{"no room for a base", "commit", func(a *archivist, r *durable.Report) { a.low, r.RoomForBase = true, false }, []string{"less than", "no room in /a for another base backup"}},
		{"slow", "commit", func(_ *archivist, r *durable.Report) { r.Recovery = 31 * time.Second }, []string{"longer than --recover-within 30s: much was written"}},
		{"slow by its data alone", "commit", func(_ *archivist, r *durable.Report) { r.Recovery, r.DataAlone = 40*time.Second, true }, []string{"the data alone takes that to restore\nhint: ramaria up shop --recover-within TIME"}},
		{"its manifest is not written", "commit", func(a *archivist, _ *durable.Report) {
			a.noted = errors.New("write manifest: no space left on device\nhint: make room")
		}, []string{"the archive cannot be told what is outside of the promise: write manifest: no space left on device"}},
		{"a base failed", "commit", func(a *archivist, _ *durable.Report) { a.base = failed }, []string{"the last base backup failed: write base 2: no space left on device"}},
		{"a base failed, and one was made after it", "commit", func(a *archivist, r *durable.Report) { a.base, r.Newest.Time = failed, began.Add(2*time.Minute) }, nil},
		{"a verification failed", "commit", func(a *archivist, _ *durable.Report) { a.verified.Store(&failed) }, []string{"the last verification of the archive failed: "}},
		{"a verification failed, and one did not", "commit", func(a *archivist, r *durable.Report) {
			a.verified.Store(&failed)
			r.Verified = began.Add(2 * time.Minute)
		}, nil},
		{"breaches", "commit", func(_ *archivist, r *durable.Report) {
			r.Breaches = []archive.Breach{{From: began.Add(-2 * time.Hour), To: began.Add(-time.Hour), What: "of the run before"}, {From: began, To: began.Add(time.Second), What: "x = 0"}}
		}, []string{": x = 0; a base backup follows"}},
		{"a breach that was mended", "commit", func(_ *archivist, r *durable.Report) {
			r.Breaches = []archive.Breach{{From: began, To: began.Add(time.Second), What: "x = 0", Base: 7}}
		}, []string{": x = 0; base backup 7 was made after it"}},
	} {
		a := &archivist{
			began:      began,
			Supervisor: &Supervisor{inst: &instance.Instance{Record: instance.Record{Name: "shop", Spec: instance.Spec{Durable: c.level}}}, options: Options{Archive: "/a"}},
		}
		r := well
		c.does(a, &r)
		got := a.warnings(r, sys.FS{Size: 10 << 30})
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", c.name, got)
			continue
		}
		for i, part := range c.want {
			if !strings.Contains(got[i], part) {
				t.Errorf("%s: no %q in %q", c.name, part, got[i])
			}
			if i == 0 && strings.Contains(got[i], "hint: make room\n") {
				t.Errorf("%s: a hint of a hint: %q", c.name, got[i])
			}
		}
	}
}
