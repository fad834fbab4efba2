package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/adopt"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/datafiles"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/divergence"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/supervisor"
)

// CutOverRequest asks for the end of a hand-over.
type CutOverRequest struct {
	Name string
	// Address is the target's HOST:PORT, Login an option file with user and password of its administrator.
	Address, Login string
	TLS            dbconn.TLS
	// AcceptDivergence takes a target that may differ from the instance, too.
	AcceptDivergence bool
}

// CutOverMade says how it went.
type CutOverMade struct {
	// Pause is for how long nothing could be written, and Position up to where the target has the instance's log.
	Pause    time.Duration
	Position string
	// Asleep are events that run at the instance and are not enabled at the target, and Notes what else there is to heed.
	Asleep, Notes []string
}

const (
	// cutOverWithin is how long writes may be held before the target is written to, or all is put back.
	cutOverWithin = 4500 * time.Millisecond
	// statementTime is how long statements that write may go on that keep the instance from becoming read-only, and
	// transactionTime how long transactions that have written.
	statementTime, transactionTime = 300 * time.Millisecond, time.Second
	// cutOverPause is the pause between two looks.
	cutOverPause = 5 * time.Millisecond
	// mostBehind is by how many seconds the target may say that it is behind; how far it really is, catchUp finds.
	mostBehind = 60
	// littleBehind is what it should be behind before, and catchUpWithin how long that is waited for.
	littleBehind, catchUpWithin = 200 * time.Millisecond, 30 * time.Second
	// stuckWithin is for how long the target may apply nothing: then it would not do so either while writes are held.
	stuckWithin = 5 * time.Second
	// undoWithin is how long putting back may take, and finishWithin what the target does once it has all.
	undoWithin, finishWithin = 10 * time.Second, 10 * time.Second
)

// cutting is a cut-over.
type cutting struct {
	CutOverRequest

	e    *Engine
	i    *instance.Instance
	d    dbconn.Dialect
	db   *sql.DB
	far  *sql.DB
	farD dbconn.Dialect
	h    *instance.HandOver
	// events are those that run at the instance.
	events []event
	// finder looks for what the target may not have repeated.
	finder *divergence.Finder
}

// CutOver has the target of a hand-over, which follows the instance, take its place. After an error the instance is written to
// as before, or, where the error says so, not any more.
func (e *Engine) CutOver(ctx context.Context, q CutOverRequest) (out CutOverMade, err error) {
	c := &cutting{CutOverRequest: q, e: e}
	if c.i, err = e.Running(q.Name); err != nil {
		return out, err
	}
	lock, err := e.Registry.Lock(ctx, instance.HandOverLock(q.Name), func() { e.note("waiting: another command is at the hand-over of %s", q.Name) })
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lock.UnlockRemove()) }()
	if c.h, err = e.Registry.HandOver(q.Name); err != nil {
		return out, err
	}
	if c.h == nil {
		return out, RequestError{fmt.Errorf("cut over instance %s: it is not being handed over\nhint: ramaria hand-over %[1]s --to TARGET", q.Name)}
	}
	if err := c.open(ctx); err != nil {
		return out, err
	}
	defer c.close()
	if cut := c.h.Cut; cut != nil && !cut.Done { // a command was killed at it
		if err := supervisor.UndoCutOver(ctx, c.d, c.db, cut); err != nil {
			return out, err
		}
		c.h.Cut = nil
	}
	if err := c.check(ctx); err != nil {
		return out, err
	}
	if !c.h.HandedOver() {
		if err := c.catchUp(ctx); err != nil {
			return out, err
		}
	}
	began := time.Now()
	if !c.h.HandedOver() {
		if out.Position, err = c.hold(ctx); err != nil {
			return out, c.putBack(context.WithoutCancel(ctx), err)
		}
	}
	// From here on the target has it all, and nothing is put back.
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
	defer cancel()
	if err := dbconn.ExecAll(finish, c.far, append(c.farD.EndTargetSQL(), c.farD.WritableSQL()...)...); err != nil {
		return out, fmt.Errorf("have %s be written to: %w\nhint: it has all, and instance %s stays read-only; the same command again, or ramaria hand-over %[3]s --end --writable goes back", q.Address, err, q.Name)
	}
	out.Pause = time.Since(began)
	out.Asleep, err = c.wake(finish)
	return out, err
}

// open connects to both.
func (c *cutting) open(ctx context.Context) (err error) {
	fail := func(err error, hint string) error {
		c.close()
		return fmt.Errorf("cut over to %s: %w\nhint: %s", c.Address, err, hint)
	}
	if c.Login == "" {
		return RequestError{fail(errors.New("it is not known how to log in"), c.again()+" FILE, an option file with [client], user and password of its administrator")}
	}
	login, err := adopt.ReadLogin(c.Login)
	if err != nil {
		return err
	}
	if c.far, err = dbconn.OpenTCP(c.Address, login, c.TLS); err != nil {
		return RequestError{fail(err, "--cut-over HOST:PORT")}
	}
	var text string
	if err := c.far.QueryRowContext(ctx, "SELECT VERSION()").Scan(&text); err != nil {
		hint := "is the server there, does it listen at that address, and may " + login.User + " log in from here?"
		if dbconn.IsNoTLS(err) {
			hint = c.again() + " --no-tls, where the way between is safe"
		}
		return fail(err, hint)
	}
	v, err := server.ParseVersion(text)
	if err != nil {
		return fail(err, "ramaria servers says which servers there are")
	}
	c.d, c.farD = c.i.Server.Dialect(), (&server.Server{Flavour: c.i.Server.Flavour, Version: v}).Dialect()
	if c.db, err = dbconn.Open(c.i.Endpoint.Socket, c.i.Supervisor, ""); err != nil {
		return fail(err, "ramaria logs "+c.Name)
	}
	return nil
}

func (c *cutting) close() {
	for _, db := range []*sql.DB{c.far, c.db} {
		if db != nil {
			_ = db.Close()
		}
	}
}

// again is the command of a cut-over, for a hint.
func (c *cutting) again() string {
	return strings.TrimSpace("ramaria hand-over " + c.Name + " --cut-over " + c.Address + " --login " + c.Login)
}

// check refuses a target that does not follow, or is far behind.
func (c *cutting) check(ctx context.Context) (err error) {
	refuse := func(why, hint string) error {
		return RequestError{fmt.Errorf("cut over instance %s to %s: %s\nhint: %s", c.Name, c.Address, why, hint)}
	}
	state, err := c.farD.TargetState(ctx, c.far)
	if err != nil {
		return fmt.Errorf("ask %s how it follows: %w", c.Address, err)
	}
	follows := "SHOW " + c.farD.Applier.Replica + " STATUS there says more"
	if c.h.HandedOver() {
		if c.h.Cut.To != c.Address || state.User != "" && state.User != c.h.User {
			return refuse("it was handed over to "+c.h.Cut.To, "ramaria status "+c.Name)
		}
		return nil
	}
	switch {
	case c.h.Life != c.i.LogLife():
		return refuse("its log was begun again since, and the target lacks some of it", "ramaria hand-over "+c.Name+" --end, and --to again")
	case state.User != c.h.User:
		return refuse("the target does not follow this instance", c.h.Dir+"/README.md says how it comes to")
	case state.Error != "":
		return refuse("the target has an error: "+strings.ReplaceAll(state.Error, "\n", " "), follows)
	case !state.Receiving || !state.Applying:
		return refuse("the target has stopped to follow, or is not connected", follows)
	case state.Behind > mostBehind:
		return refuse(fmt.Sprintf("the target is %d s behind", state.Behind), c.again()+" when it is less; "+follows)
	}
	if err := c.agrees(ctx); err != nil {
		return RequestError{fmt.Errorf("cut over instance %s to %s: %w", c.Name, c.Address, err)}
	}
	var readOnly bool
	if err := c.db.QueryRowContext(ctx, "SELECT @@GLOBAL.read_only").Scan(&readOnly); err != nil {
		return err
	}
	if readOnly {
		return refuse("the instance is read-only", "ramaria status "+c.Name+" may say why; SET GLOBAL read_only = OFF")
	}
	c.events, err = enabledEvents(ctx, c.db)
	return err
}

// agrees refuses a target that may differ from the instance.
func (c *cutting) agrees(ctx context.Context) error {
	if c.AcceptDivergence {
		return nil
	}
	told, err := c.i.HandingOver()
	if err != nil {
		return err
	}
	if told == nil || told.Of != c.h.User {
		told = &instance.HandingOver{Judged: binlog.Position{File: c.h.File, Offset: c.h.Pos}}
	}
	found := told.Diverged
	if found == nil && c.finder == nil {
		mysql := c.i.Server.Flavour == server.MySQL
		c.finder = divergence.New(mysql, told.Judged)
		err = dbconn.PrimaryKeys(ctx, c.db, mysql, func(dir, file, column string) {
			c.finder.Known(datafiles.Decode(dir), datafiles.Decode(file), column)
		})
	}
	if err == nil && found == nil {
		found, err = c.finder.Look(divergence.Own(c.i.DataDir(), server.BinlogName, server.FoldsNames(c.i.Spec.Set)))
	}
	if err != nil || found == nil {
		return err
	}
	return fmt.Errorf("the target may differ %s\nhint: ramaria hand-over %s --end, and --to again; --accept-divergence takes the target as it is", divergence.Since(found), c.Name)
}

// hold has nothing be written to the instance any more, waits until the target has all, and writes that down.
func (c *cutting) hold(ctx context.Context) (position string, err error) {
	ctx, cancel := context.WithTimeout(ctx, cutOverWithin)
	defer cancel()
	cut := &instance.CutOver{To: c.Address, At: time.Now()}
	if err := c.db.QueryRowContext(ctx, "SELECT @@GLOBAL.event_scheduler").Scan(&cut.Events); err != nil {
		return "", err
	}
	if cut.Revoked, err = c.d.Exempt(ctx, c.db); err != nil {
		return "", err
	}
	for i, name := range cut.Revoked {
		cut.Revoked[i] = strings.TrimSuffix(name, "@''") // a role
	}
	c.h.Cut = cut // a supervisor that finds it, and no command at it, puts back
	if err := c.e.Registry.PutHandOver(c.Name, c.h); err != nil {
		return "", err
	}
	if err := c.readOnly(ctx, cut); err != nil {
		return "", err
	}
	end, err := c.applied(ctx)
	if err == nil {
		err = c.agrees(ctx)
	}
	if err != nil {
		return "", err
	}
	done := *cut
	done.Done, done.Position = true, fmt.Sprintf("%s:%d", end.File, end.Pos)
	was := *c.h
	c.h.Cut = &done
	if err := c.e.Registry.PutHandOver(c.Name, c.h); err != nil {
		*c.h = was
		return "", err
	}
	return done.Position, nil
}

// readOnly makes the instance read-only. What keeps it from that is ended after a moment.
func (c *cutting) readOnly(ctx context.Context, cut *instance.CutOver) error {
	if cut.Events == "ON" {
		if err := dbconn.ExecAll(ctx, c.db, "SET GLOBAL event_scheduler = OFF"); err != nil {
			return err
		}
	}
	if err := c.revoke(ctx, cut.Revoked); err != nil {
		return err
	}
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var id uint64
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return err
	}
	// Without a context: a statement whose connection is gone goes on, and would come after what puts back.
	asked, began := make(chan error, 1), time.Now()
	go func() { asked <- dbconn.ExecAll(context.WithoutCancel(ctx), conn, c.d.ReadOnlySQL()) }()
	giveUp := func(err error) error {
		_, kerr := c.db.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("KILL CONNECTION %d", id))
		if late := <-asked; late == nil {
			kerr = nil // it had succeeded by then
		}
		return errors.Join(err, kerr)
	}
	for {
		select {
		case err := <-asked:
			return err
		case <-ctx.Done():
			return giveUp(errors.New("statements and transactions keep it from becoming read-only"))
		case <-time.After(statementTime / 3):
		}
		var err error
		switch late := time.Since(began); {
		case late > transactionTime:
			err = c.kill(ctx, "KILL CONNECTION", dbconn.Writers)
		case late > statementTime:
			err = c.kill(ctx, "KILL QUERY", dbconn.Writing)
		}
		if err != nil && ctx.Err() == nil {
			return giveUp(err)
		}
	}
}

// kill ends the connections that find finds, or their statements.
func (c *cutting) kill(ctx context.Context, how string, find func(context.Context, *sql.DB) ([]uint64, error)) error {
	ids, err := find(ctx, c.db)
	for _, id := range ids {
		_, _ = c.db.ExecContext(ctx, fmt.Sprintf("%s %d", how, id)) // the only error is that it has ended by itself
	}
	return err
}

// revoke takes from accounts that they write in spite of read_only, and ends their sessions, which have that still.
func (c *cutting) revoke(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	var statements []string
	for _, name := range names {
		statements = append(statements, "REVOKE "+c.d.ObeyReadOnly+" ON *.* FROM "+name)
	}
	if err := dbconn.ExecUnlogged(ctx, c.db, statements...); err != nil {
		return err
	}
	// A role may be anyone's.
	all := slices.ContainsFunc(names, func(name string) bool { return !strings.Contains(name, "'@'") })
	has := func(user string) bool {
		return all || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, dbconn.Quote(user)+"@") })
	}
	var old []uint64
	for first := true; ; first = false {
		sessions, err := dbconn.Sessions(ctx, c.db)
		if err != nil {
			return err
		}
		left := 0
		for _, s := range sessions {
			ours := s.User == dbconn.SupervisorUser || s.User == c.h.User || s.User == "system user" || s.Command == "Daemon"
			switch {
			case first && !ours && has(s.User):
				old, left = append(old, s.ID), left+1
				_, _ = c.db.ExecContext(ctx, fmt.Sprintf("KILL CONNECTION %d", s.ID)) // it may have ended
			case slices.Contains(old, s.ID):
				left++
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("sessions do not end")
		case <-time.After(cutOverPause):
		}
	}
}

// putBack has the instance be written to as before.
func (c *cutting) putBack(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, undoWithin)
	defer cancel()
	if cut := c.h.Cut; cut != nil {
		err := supervisor.UndoCutOver(ctx, c.d, c.db, cut)
		if err == nil {
			c.h.Cut = nil
			err = c.e.Registry.PutHandOver(c.Name, c.h)
		}
		if err != nil { // the supervisor goes on with it when this command has ended
			return errors.Join(fmt.Errorf("cut over instance %s to %s: %w", c.Name, c.Address, cause), fmt.Errorf("have instance %s be written to again: %w\nhint: its supervisor tries again; ramaria hand-over %[1]s --end --writable", c.Name, err))
		}
	}
	return fmt.Errorf("cut over instance %s to %s: %w; the instance is written to as before\nhint: the target follows on; try again when it has less to do, and no long transactions run", c.Name, c.Address, cause)
}
