package random

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/tests/grammar"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// lease lives a life in a clone.
type lease struct {
	in       *instance
	log      *journal
	counts   *counts
	name     string // in the log
	template *template
	database client.Database
	sessions [connections]*session
	// quiet never has a transaction open, so that it must stay, unless a warning tells that all of
	// the lease's connections were ended, since one held a lock, or the server does not tell who has one.
	quiet *session

	// want is what the database must look like when it is clean; marked says that it is the
	// mark, kept that its counters may be higher.
	want          picture.Picture
	clean, marked bool
	kept          bool
}

// fault is what a life must not meet: the product's, not the test's.
type fault struct{ text string }

func (f *fault) Error() string { return f.text }

func faulty(format string, args ...any) error { return &fault{fmt.Sprintf(format, args...)} }

// newLease takes a clone of a template, called database unless that is empty. Only one without
// a name may have been another's before.
func (r *runner) newLease(ctx context.Context, name, database string, t *template) (*lease, error) {
	l := &lease{in: r.in, log: r.log, counts: &r.counts, name: name, template: t, want: t.picture, clean: true}
	var err error
	if l.database, err = r.in.NewDatabase(ctx, client.DatabaseRequest{Template: t.name, Name: database}); err != nil {
		return nil, faulty("take a clone of %s: %v", t.name, err)
	}
	l.log.write(name, "takes %s of %s", l.database.Name, t.name)
	for i := range l.sessions {
		l.sessions[i] = r.in.newSession(l.database.User, l.database.Password, l.database.Name)
	}
	l.quiet = r.in.newSession(l.database.User, l.database.Password, l.database.Name).calmed()
	return l, nil
}

// end gives the clone back.
func (l *lease) end(ctx context.Context) error {
	for _, s := range append(l.sessions[:], l.quiet) {
		s.close()
	}
	l.log.write(l.name, "gives %s back", l.database.Name)
	if err := l.in.DropDatabase(context.WithoutCancel(ctx), l.database.Name); err != nil {
		return faulty("give %s back: %v", l.database.Name, err)
	}
	return nil
}

// live takes a clone, takes all steps, and gives it back. at is the step that failed.
func (r *runner) live(ctx context.Context, name, database string, t *template, steps []step) (at int, err error) {
	l, err := r.newLease(ctx, name, database, t)
	if err == nil {
		for at = range steps {
			if err = l.take(ctx, steps[at]); err != nil || ctx.Err() != nil {
				break
			}
		}
		if e := l.end(ctx); err == nil {
			err = e
		}
	}
	if ctx.Err() != nil {
		err = nil // it was told to stop
	}
	return at, err
}

// take takes one step.
func (l *lease) take(ctx context.Context, s step) error {
	began := time.Now()
	said, err := l.do(ctx, s)
	l.log.write(l.name, "%s [%s] %v", s, time.Since(began).Round(time.Millisecond), said)
	return err
}

func (l *lease) do(ctx context.Context, s step) (said any, err error) {
	session := l.sessions[s.conn]
	text := strings.NewReplacer("{DB}", grammar.Quote(l.database.Name), "{TEMPLATE}", grammar.Quote(l.template.name)).Replace(s.text)
	switch s.verb {
	case run:
		_, _ = session.await()
		l.clean = false
		err := session.exec(ctx, text)
		l.counts.statement(s.text, err)
		if errors.Is(err, errStuck) {
			return err, faulty("%s: %v", s, err)
		}
		return err, nil
	case begin:
		_, _ = session.await()
		l.clean = false
		session.begin(ctx, text)
		l.arrive(ctx, session, text)
	case await:
		_, err := session.await()
		return err, nil
	case killQuery, kill:
		return l.quiet.exec(ctx, fmt.Sprintf("%s %d", strings.ToUpper(string(s.verb)), session.id)), nil
	case cut:
		session.cut()
	case reset, rewind:
		return l.back(ctx, s)
	case mark:
		return l.mark(ctx)
	case compare:
		return l.compare(ctx)
	case use:
		return l.use(ctx)
	}
	return nil, nil
}

// arrive waits until the server is at work on a statement that was begun: one that comes later
// than a reset is no part of what was reset.
func (l *lease) arrive(ctx context.Context, s *session, text string) {
	for range 200 {
		var now sql.NullString
		err := l.in.db.QueryRowContext(ctx, fmt.Sprintf("SELECT INFO FROM information_schema.PROCESSLIST WHERE ID=%d", s.id)).Scan(&now)
		if err != nil || now.String == text || len(s.busy) > 0 {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// rest waits until the server calls a session idle. At idle priority it may have the answer long before.
func (l *lease) rest(ctx context.Context, s *session) {
	for range 200 {
		var command string
		err := l.in.db.QueryRowContext(ctx, fmt.Sprintf("SELECT COMMAND FROM information_schema.PROCESSLIST WHERE ID=%d", s.id)).Scan(&command)
		if err != nil || command == "Sleep" {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// back puts the database back, to its template or its mark. A statement that was at work
// meanwhile and succeeded may have come after it: then it is put back once more.
func (l *lease) back(ctx context.Context, s step) (said any, err error) {
	for {
		var r client.Reset
		quiet := l.in.tellsTransactions() && l.quiet.exec(ctx, "SELECT 1") == nil && l.quiet.conn != nil
		id := l.quiet.id
		if quiet {
			l.rest(ctx, l.quiet)
		}
		if s.verb == rewind {
			r, err = l.in.RollbackDatabase(ctx, l.database.Name, s.mode)
		} else {
			r, err = l.in.ResetDatabase(ctx, l.database.Name, s.mode)
		}
		again := false
		for _, session := range l.sessions {
			was, err := session.await()
			again = again || was && err == nil
		}
		if err := l.settle(s, err); err != nil {
			return nil, err
		}
		l.counts.way(string(s.verb), r.Way, err)
		if quiet && err == nil && len(r.Warnings) == 0 && (r.Way == "noop" || r.Way == "rewind") {
			if e := l.quiet.exec(ctx, "SELECT 1"); e != nil || l.quiet.id != id {
				return r, faulty("%s by %s ended an idle connection: %v", s, r.Way, e)
			}
		}
		if !again || ctx.Err() != nil {
			return []any{r.Way, r.Why, err}, nil //nolint:nilerr // what settle took for right is no fault
		}
	}
}

// settle says what is to be expected after a reset or rewind that answered err.
func (l *lease) settle(s step, err error) error {
	had := l.marked
	var e *client.Error
	switch {
	case err == nil && s.verb == rewind:
		if !had {
			return faulty("a database without a mark was rewound")
		}
	case err == nil:
		l.want, l.marked = l.template.picture, false
	case s.verb == rewind && errors.As(err, &e) && e.Code == client.CodeLost:
		l.want, l.marked = l.template.picture, false
	default:
		return faulty("%s: %v", s, err)
	}
	l.clean, l.kept = true, s.mode == client.KeepCounters
	return nil
}

// mark marks the database. One that was changed beyond its rows cannot be.
func (l *lease) mark(ctx context.Context) (said any, err error) {
	l.unlock(ctx)
	err = l.in.SetSavepoint(ctx, l.database.Name)
	var e *client.Error
	if errors.As(err, &e) && e.Code == client.CodeChanged {
		l.counts.way("mark", "", err)
		l.marked = false
		return err, nil
	}
	if err != nil {
		return nil, faulty("mark: %v", err)
	}
	l.counts.way("mark", "made", nil)
	if l.want, err = l.in.look(ctx, l.database.Name, picture.Blind{}); err != nil {
		return nil, faulty("look at the mark: %v", err)
	}
	l.marked, l.clean, l.kept = true, true, false
	return nil, nil
}

// unlock waits for all statements, and lets go of locks that would keep others from looking.
func (l *lease) unlock(ctx context.Context) {
	for _, s := range l.sessions {
		_, _ = s.await()
		if s.conn != nil {
			_ = s.exec(ctx, "UNLOCK TABLES") // it may have ended
		}
	}
}

// compare compares the database with what it must be.
func (l *lease) compare(ctx context.Context) (said any, err error) {
	if !l.clean {
		return "not clean", nil
	}
	l.unlock(ctx)
	l.counts.compared()
	if err := l.prepared(ctx); err != nil {
		return nil, err
	}
	return nil, l.same(ctx, l.want, picture.Blind{Counters: l.kept})
}

func (l *lease) same(ctx context.Context, want picture.Picture, b picture.Blind) error {
	got, err := l.in.look(ctx, l.database.Name, b)
	if err != nil {
		return faulty("look: %v", err)
	}
	if d := picture.Differences(got, want.Without(b)); d != "" {
		return faulty("%s is not as it should be:\n%s", l.database.Name, d)
	}
	return nil
}

// prepared looks for transactions of the lease that are still prepared.
func (l *lease) prepared(ctx context.Context) error {
	rows, err := l.in.db.QueryContext(ctx, "XA RECOVER")
	if err != nil {
		return faulty("look for prepared transactions: %v", err)
	}
	defer rows.Close()
	for rows.Next() {
		var format, global, branch int
		var data string
		if err := rows.Scan(&format, &global, &branch, &data); err != nil {
			return err
		}
		if base, _, _ := strings.Cut(l.name, "/"); strings.HasPrefix(data, "x"+base+"_") || data == "x"+grammar.Quote(l.database.Name) {
			return faulty("the transaction %q is still prepared", data)
		}
	}
	return rows.Err()
}

// use uses each table and sequence, and compares that with a plain copy's answers.
func (l *lease) use(ctx context.Context) (said any, err error) {
	if !l.clean || l.marked || l.kept {
		return "not as the template", nil
	}
	l.unlock(ctx)
	l.clean = false
	l.counts.used()
	s := l.in.newSession(l.database.User, l.database.Password, l.database.Name).calmed()
	defer s.close()
	if err := s.exec(ctx, probing); err != nil {
		return nil, faulty("use: %v", err)
	}
	for _, p := range l.template.probes {
		answer, err := s.probe(ctx, p.text)
		if err != nil {
			return nil, faulty("use: %s: %v", p.text, err)
		}
		if answer != p.answer {
			return nil, faulty("use: %s: %s, and a plain copy answers %s", p.text, answer, p.answer)
		}
	}
	return nil, l.same(ctx, l.template.used, picture.Blind{Times: true})
}
