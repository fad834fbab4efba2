package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/divergence"
	"github.com/ramaria-db/ramaria/internal/server"
)

// received is what a replica has of its source's log. It is in its relay log, and where the source is gone, nowhere else.
type received struct {
	// begins is where the first transaction begins that was not applied, as far as that is known, and ends where the last
	// one ends that is whole, in the relay log.
	begins, ends binlog.Position
	// gtids are those of MariaDB up to there, the last of each domain.
	gtids binlog.GTIDs
	// unclear says that the relay log cannot be read: what the server says of itself has to do.
	unclear bool
}

// receivedBy finds what a replica in a state, which receives nothing now, has; nil for nothing that it has not applied.
func (s *Supervisor) receivedBy(state dbconn.ReplicaState) (*received, error) {
	files, err := binlog.Files(s.inst.DataDir(), server.RelayName)
	if err != nil {
		return nil, err
	}
	applied, err := binlog.ParseGTIDs(state.AppliedGTIDs)
	if err != nil {
		return nil, err
	}
	pending := pending{applied: applied}
	var open binlog.OpenGroup
	for _, name := range files {
		x, err := binlog.ScanRelay(filepath.Join(s.inst.DataDir(), name), &open, func(g binlog.Group) error {
			pending.take(g, name)
			return nil
		})
		if gone := (*binlog.GoneError)(nil); errors.As(err, &gone) { // all of it was applied meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if x.Torn != nil {
			s.log.Debug("a file of the relay log ends within a transaction", "why", x.Torn)
		}
	}
	r := pending.received()
	if r == nil || r.appliedIn(state) {
		return nil, nil
	}
	return r, nil
}

// pending finds what of a relay log was not applied.
type pending struct {
	applied binlog.GTIDs
	r       received
	// begins are where the first transactions begin of those in r, one of each domain, in order.
	begins []beginning
}

type beginning struct {
	domain uint32
	at     binlog.Position
}

// take takes the next group, which ends in a file.
func (p *pending) take(g binlog.Group, file string) {
	switch {
	case slices.Contains(p.applied, g.GTID): // and so is all of its domain that stands before it; of others several appliers go ahead
		p.r.gtids = slices.DeleteFunc(p.r.gtids, func(is binlog.GTID) bool { return is.Domain == g.GTID.Domain })
		p.begins = slices.DeleteFunc(p.begins, func(b beginning) bool { return b.domain == g.GTID.Domain })
		return
	case covers(p.applied, g.GTID):
		return
	}
	p.r.gtids.Add(g.GTID)
	if !slices.ContainsFunc(p.begins, func(b beginning) bool { return b.domain == g.GTID.Domain }) {
		p.begins = append(p.begins, beginning{g.GTID.Domain, binlog.Position{File: g.File, Offset: g.Start}})
	}
	p.r.ends = binlog.Position{File: file, Offset: g.End}
}

// received is what was not applied, nil for nothing.
func (p *pending) received() *received {
	if len(p.begins) == 0 {
		return nil
	}
	r := p.r
	r.begins = p.begins[0].at
	return &r
}

// covers reports whether a GTID is one of those up to others. Of different servers of one domain the numbers alone say nothing.
func covers(all binlog.GTIDs, g binlog.GTID) bool {
	return slices.ContainsFunc(all, func(is binlog.GTID) bool {
		return is.Domain == g.Domain && is.Server == g.Server && is.Sequence >= g.Sequence
	})
}

// appliedIn reports whether a replica in a state has applied it all.
func (r *received) appliedIn(state dbconn.ReplicaState) bool {
	if len(r.gtids) > 0 {
		applied, err := binlog.ParseGTIDs(state.AppliedGTIDs)
		// Of each domain the last one counts.
		last := map[uint32]binlog.GTID{}
		for _, g := range r.gtids {
			last[g.Domain] = g
		}
		for _, g := range last {
			if err != nil || !covers(applied, g) {
				return false
			}
		}
		return true
	}
	if r.unclear {
		return state.Caught()
	}
	return cmp.Or(cmp.Compare(len(state.RelayFile), len(r.ends.File)), cmp.Compare(state.RelayFile, r.ends.File), cmp.Compare(state.RelayPos, r.ends.Offset)) >= 0
}

// replication is what a supervisor remembers of replication. It is for the goroutine of Run, but for what is atomic.
type replication struct {
	// left is what the server had received when it stopped and has not applied yet, goal what a replica that is promoted, or
	// stopped, has to apply before, and appliers slave_parallel_threads where that is another while left is applied.
	left, goal *received
	appliers   string
	// asks says that the server asks its source, or has been told to: what it had received before is applied.
	asks bool
	// halted says that the brake has stopped the replica, or stops it: nothing starts it before there is room.
	halted bool
	// newest is the newest file of the binary log in the last look.
	newest logFile
	// promoting says that a replica receives nothing any more, and will be one no more.
	promoting atomic.Bool
	// joining says that commits are to wait for a replica that is being made.
	joining atomic.Bool
	// finder looks for what a replica may not have repeated, in its own log where ownLog says so; nil before the first look.
	finder *divergence.Finder
	ownLog bool
	// ordered gets the answer to the statement about replication that the server is at; nil for none. See replicate.
	ordered chan error
}

// resumePatience is how long a start may take to apply what was received; the watch goes on with that.
const resumePatience = 2 * time.Second

// resume begins to apply what the server had received when it stopped. The watch goes on with that; until it is done, the
// source is not asked: what it sends then takes the place of the relay log.
func (s *Supervisor) resume(ctx context.Context, state dbconn.ReplicaState) error {
	s.asks = false
	left, err := s.receivedBy(state)
	if err != nil || left == nil {
		s.left = nil
		return err
	}
	s.left = left
	d := s.inst.Server.Dialect()
	var statements []string
	if len(left.gtids) > 0 { // MariaDB trusts a file that is behind after a kill; several appliers do not take a position
		if s.appliers == "" {
			if err := s.db.QueryRowContext(ctx, "SELECT @@GLOBAL.slave_parallel_threads").Scan(&s.appliers); err != nil {
				return err
			}
		}
		statements = append(statements, "SET GLOBAL slave_parallel_threads = 0", d.ApplyFrom(left.begins.File, left.begins.Offset))
	}
	return s.replicate(ctx, append(statements, d.StartApplierSQL(left.ends.File, left.ends.Offset))...)
}

// resumed looks whether what was received before is applied, and begins again with it where the applier has stopped.
func (s *Supervisor) resumed(ctx context.Context) error {
	d := s.inst.Server.Dialect()
	state, err := d.ReplicaState(ctx, s.db)
	switch {
	case err != nil:
		return err
	case s.left.appliedIn(state):
		if state.Applying {
			if err := s.replicate(ctx, d.StopReplicaSQL()); err != nil {
				return err
			}
		}
		s.left = nil
		return nil
	case state.Applying:
		return nil
	}
	failed := fmt.Errorf("apply what was received before: %s", cmp.Or(flat(state.Error), "its applier has stopped"))
	if s.sourceAnswers(ctx) { // it has all that again
		s.log.Warn("what was received before is asked for again", "error", failed)
		s.left = nil
		return nil
	}
	return errors.Join(failed, s.resume(ctx, state))
}

// sourceAnswers reports whether the source lets the replica in.
func (s *Supervisor) sourceAnswers(ctx context.Context) bool {
	at, _, gone := s.source()
	if gone {
		return false
	}
	t := dbconn.TLS{Off: !at.TLS}
	if at.CA != "" {
		t.CA = filepath.Join(s.inst.DataDir(), at.CA)
	}
	db, err := dbconn.OpenTCP(net.JoinHostPort(at.Host, strconv.Itoa(at.Port)), at.Login, t)
	if err != nil {
		return false
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	return db.PingContext(ctx) == nil
}
