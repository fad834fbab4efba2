package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server"
)

// plan is what is applied: the relay log, a file for each of the logs that has something.
type plan struct {
	parts []part
	// groups are how many there are, and bytes theirs.
	groups, bytes int64
	gtids         binlog.GTIDs
	stretches     stretches
}

// part is a file of the relay log, and what it is made of.
type part struct {
	path string
	binlog.Merged
}

// relayName is the name of the file with part i.
func (j *Job) relayName(i int) string {
	return fmt.Sprintf("%s.%06d", filepath.Base(j.Server.RelayLog("")), i+1)
}

// source is where in the logs a position in part i comes from.
func (p *plan) source(i int, pos int64) (path string, offset int64) {
	return p.parts[i].path, p.place(i, pos).Read
}

// place is what a position in part i is in.
func (p *plan) place(i int, pos int64) binlog.Place {
	places := p.parts[i].Places
	at := sort.Search(len(places), func(k int) bool { return places[k].Written > pos })
	if at == 0 {
		at = 1
	}
	return places[at-1]
}

// part is the one that a file of the relay log has; ok is false behind the last.
func (s *session) part(name string) (i int, ok bool) {
	for i := range s.plan.parts {
		if s.relayName(i) == filepath.Base(name) {
			return i, true
		}
	}
	return len(s.plan.parts), false
}

// done is how many bytes of the logs are applied when the applier has come to a position in part i.
func (p *plan) done(i int, pos int64) (n int64) {
	for k := range min(i, len(p.parts)) {
		n += p.parts[k].Read
	}
	if i < len(p.parts) {
		n += int64(float64(p.parts[i].Read) * float64(pos) / float64(p.parts[i].Written))
	}
	return min(n, p.bytes)
}

// layRelayLog reads the logs, all of them, and makes a relay log of them: a fault in the middle is to be found
// before anything is applied.
func (s *session) layRelayLog(ctx context.Context) error {
	base := s.Server.RelayLog(s.tmpDir())
	dir := filepath.Dir(base)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make relay log: %w", err)
	}
	s.plan.gtids = slices.Clone(s.GTIDs)
	flights, err := s.flying()
	if err != nil {
		return err
	}
	s.flights = flights
	leaveOut, err := s.mistaken()
	if err != nil {
		return err
	}
	if err := s.ahead(leaveOut); err != nil {
		return err
	}
	if err := s.emptied(leaveOut); err != nil {
		return err
	}
	var index strings.Builder
	for i, l := range s.Logs {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if i > 0 && l.From > firstEvent {
			return fmt.Errorf("%s: it is to be applied from %d on, but is not the first", l.Path, l.From)
		}
		path := filepath.Join(dir, s.relayName(len(s.plan.parts)))
		if err := s.lay(l, path, leaveOut[l.Path]); err != nil {
			return err
		}
		if n := len(s.plan.parts); n > 0 && s.plan.parts[n-1].path == l.Path {
			index.WriteString(path + "\n")
		}
	}
	if n := len(s.plan.parts); n > 0 && s.Server.Flavour == server.MySQL {
		path := filepath.Join(dir, s.relayName(n))
		if err := s.endRelayLog(path, filepath.Join(dir, s.relayName(n-1))); err != nil {
			return err
		}
		index.WriteString(path + "\n")
	}
	if err := server.WritePrivate(base+".index", []byte(index.String()), s.Account); err != nil {
		return err
	}
	// From now on the server may write there.
	return s.Account.Own(dir, 0o700)
}

// endRelayLog makes a file behind the last one of the relay log, which MySQL examines in its place.
func (s *session) endRelayLog(path, last string) error {
	var b bytes.Buffer
	if err := binlog.RelayEnd(&b, last); err != nil {
		return err
	}
	return server.WritePrivate(path, b.Bytes(), s.Account)
}

// firstEvent is where the first event of a file begins.
const firstEvent = 4

// lay makes a file of the relay log, unless there is nothing for it. It leaves out groups, by where they begin.
func (s *session) lay(l Log, path string, leaveOut map[int64]bool) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make relay log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	m, err := binlog.Merge(w, l.Path, l.From, l.To, leaveOut, s.Serial, s.note, func(written int64, t *binlog.Touched) {
		s.plan.stretches.group(spot{len(s.plan.parts), written}, t)
	})
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("make relay log: %w", err)
	}
	if l.Given {
		if err := os.Remove(l.Path); err != nil {
			return fmt.Errorf("remove a log that was read: %w", err)
		}
	}
	for _, g := range m.GTIDs {
		s.plan.gtids.Add(g)
	}
	if m.Groups == 0 {
		return os.Remove(path)
	}
	s.plan.parts = append(s.plan.parts, part{l.Path, m})
	s.plan.groups += m.Groups
	s.plan.bytes += m.Read
	return s.Account.Own(path, 0o600)
}
