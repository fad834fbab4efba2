package durable

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/server"
)

// Blind is since when a session may have committed what the log does not have, and why: it may have got a right by
// which it can. The zero value is never. It ends with the server: no session outlives that. Where an account has more than
// its own rights when it starts again, it begins anew.
type Blind struct {
	Since time.Time `json:"since"`
	Why   []string  `json:"why"`
}

const (
	// mostBlind is how many reasons are kept.
	mostBlind = 20
	// blindEvery is how often the manifest is told that it goes on.
	blindEvery = 10 * time.Second
)

// breach is what the manifest has of it while it goes on.
func (b Blind) breach(to time.Time) archive.Breach {
	return archive.Breach{From: b.Since, To: to, What: BlindWhat(b.Why), Open: true}
}

// note has a manifest say that it goes on.
func (b Blind) note(m *archive.Manifest) {
	if !b.Since.IsZero() {
		m.Note(b.breach(time.Now()))
	}
}

// untold reports whether the manifest is to be told of it: first, or again, after some time; more says that there is a reason
// which it does not have.
func (b Blind) untold(m *archive.Manifest) (untold, more bool) {
	if b.Since.IsZero() {
		return false, false
	}
	i := slices.IndexFunc(m.Breaches, func(was archive.Breach) bool { return was.Open && was.From.Equal(b.Since) })
	more = i < 0 || m.Breaches[i].What != BlindWhat(b.Why)
	return more || time.Since(m.Breaches[i].To) >= blindEvery, more
}

// dark is said of what the log has and nobody can read: it may be anything.
const dark = "the log has what cannot be read"

// empowers says how an event may give a session the right to switch the log off, "" if it cannot.
func (f *fences) empowers(e *binlog.Event) string {
	switch {
	case e.Type == binlog.TableMapEvent && f.meter.mapped != nil:
		return repeatable.ByTable(f.meter.mapped.Schema, f.meter.mapped.Table)
	case e.Type == binlog.QueryEvent && binlog.Begins(e):
		return ""
	case e.Type == binlog.QueryEvent:
		if q, err := binlog.ParseQuery(e); err == nil {
			powers, mysql := f.powers.Load(), f.server.Flavour == server.MySQL
			return cmp.Or(powers.ByQuery(&q, mysql), f.routines.ByQuery(*powers, &q, mysql)) // both see it
		}
		return dark
	case e.Type == binlog.TableMapEvent, e.Type == binlog.QueryCompressedEvent, e.Type == binlog.TransactionPayloadEvent:
		return dark
	}
	return ""
}

// blinded notes that a session may have got such a right.
func (f *fences) blinded(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(f.blind.Why, why) || len(f.blind.Why) >= mostBlind {
		return
	}
	if f.blind.Since.IsZero() {
		f.blind.Since = time.Now()
	}
	f.blind.Why = append(f.blind.Why, why)
	f.log.Warn("outside of the promise until the server restarts", "what", BlindWhat(f.blind.Why))
	f.note() // whoever makes bases has the manifest know first
	select {
	case f.alarm <- struct{}{}:
	default:
	}
}

// Blind says since when a session may have committed what the log does not have.
func (k *Keeper) Blind() Blind {
	f := k.gate()
	f.mu.Lock()
	defer f.mu.Unlock()
	return Blind{f.blind.Since, slices.Clone(f.blind.Why)}
}

// Alarm has something in it when there is more of Blind.
func (k *Keeper) Alarm() <-chan struct{} { return k.gate().alarm }

// Blinded notes that a session may, whatever the log has of it.
func (k *Keeper) Blinded(why string) { k.gate().blinded(why) }

// Look says what there is that is in no log, and with it which accounts have rights by which a session can.
func (k *Keeper) Look(besideLog []string) {
	p := powersOf(k.Instance.Server, besideLog)
	k.gate().powers.Store(&p)
}

// powersOf are what is looked for in the log.
func powersOf(s *server.Server, besideLog []string) (p repeatable.Powers) {
	p.Accounts = []repeatable.Account{{User: dbconn.SupervisorUser, Host: "localhost"}}
	for _, h := range dbconn.Holders(besideLog) {
		p.Accounts = append(p.Accounts, repeatable.Account{User: h.User, Host: h.Host})
	}
	p.Rights = s.Family().Blinding()
	return p
}

const (
	// definedQuery asks for what can call a procedure that switches the log off, or do so itself, by whose rights, and what it
	// does. Triggers and functions cannot, nor execute what they are given (errors 1766 and 1336).
	definedQuery = `SELECT routine_schema, routine_name, definer, security_type, COALESCE(routine_definition, '') FROM information_schema.routines WHERE routine_type <> 'FUNCTION'
	UNION ALL SELECT event_schema, event_name, definer, 'DEFINER', event_definition FROM information_schema.events`
	// mostBlinding bounds the list.
	mostBlinding = 20
)

// blindingIn lists, for what is outside of the promise, who may switch the log off without a trace in it: accounts that
// have a right to, and routines and events of such accounts that do, by themselves or by what they call, or that execute what
// they are given.
func blindingIn(ctx context.Context, db *sql.DB, besideLog []string) (list []string, err error) {
	for _, h := range dbconn.Holders(besideLog) {
		if !h.Shut {
			list = append(list, "account "+h.String())
		}
	}
	defined, err := DefinedIn(ctx, db, besideLog)
	if err != nil {
		return nil, err
	}
	var r repeatable.Routines
	blinding, _ := r.Begin(defined)
	for _, d := range blinding {
		list = append(list, d.Schema+"."+d.Name+" of "+d.Definer)
	}
	return mayBlind(list), nil
}

// DefinedIn lists the procedures, packages and events of a server, with who of those that define them has rights to switch the
// log off, by what is in no log.
func DefinedIn(ctx context.Context, db *sql.DB, besideLog []string) (list []repeatable.Defined, err error) {
	names := map[string]bool{dbconn.SupervisorUser + "@localhost": true}
	for _, h := range dbconn.Holders(besideLog) {
		names[h.Name()] = true
		if h.Host == "" { // as the definer of a routine, a role is without an @
			names[h.User] = true
		}
	}
	err = dbconn.Query(ctx, db, definedQuery, func(cols []string) error {
		list = append(list, repeatable.Defined{Schema: cols[0], Name: cols[1], Definer: cols[2], Mighty: names[cols[2]], Invoker: cols[3] == "INVOKER", Body: cols[4]})
		return nil
	})
	return list, err
}

// LookAtRoutines says which there are when the server has started: what the log has of others may call these, or be called.
func (k *Keeper) LookAtRoutines(list []repeatable.Defined) {
	f := k.gate()
	if _, why := f.routines.Begin(list); why != "" {
		f.blinded(why)
	}
}

// mayBlind says so of each of a list, but of no more than people read.
func mayBlind(list []string) (out []string) {
	for i, who := range list {
		if i == mostBlinding {
			return append(out, fmt.Sprintf("%d more accounts, routines and events may switch the log off", len(list)-i))
		}
		out = append(out, who+" may switch the log off")
	}
	return out
}

// sighted goes on after a run in which a session may have committed what the log does not have: a base is made, which
// has that.
func (k *Keeper) sighted() error {
	if err := k.noteBlind(); err != nil {
		return err
	}
	if !k.Archive.Manifest.Opened() {
		return nil
	}
	if err := k.Archive.save(func(m *archive.Manifest) { m.Shut(time.Now(), 0) }); err != nil {
		return err
	}
	k.breached++
	k.mended = true
	return nil
}

// Mended reports whether a run came before this one in which a session may have committed what the log does not have. Those who
// may still were told of then; the base that is due has their names.
func (k *Keeper) Mended() bool { return k.mended }

// noteBlind has the manifest know what until now the memory alone has, when the server has ended. Its caller has locked
// manifest, or is alone.
func (k *Keeper) noteBlind() error {
	b := k.Blind()
	if b.Since.IsZero() {
		return nil
	}
	if err := k.Archive.save(b.note); err != nil {
		return err
	}
	f := k.fences
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blind = Blind{}
	return f.saved()
}

// hiddenLost is what the manifest says besides of a time that the base backup has not, when data was made of that and the log.
const hiddenLost = "; what the log lacks of it since the base backup before is lost"

// tellHidden tells of times of which the log that data is made of may lack commits, and the base backup has them not: a session
// may have hidden them, also where the server was restarted since then, and the base backup after that was still to be made,
// or is another one.
func (a *Archive) tellHidden(r Recovered, note func(string)) {
	for _, b := range a.Manifest.Breaches {
		if before := r.More && r.Time.Before(b.From); !b.Hides(r.Base.ID) || before {
			continue
		}
		until := "until " + b.To.Local().Format(time.DateTime)
		if b.Open {
			until += " at least"
		}
		note(fmt.Sprintf("warning: from %s on, %s, commits may be missing: %s; those since the base backup before are lost", b.From.Local().Format(time.DateTime), until, strings.TrimSuffix(b.What, hiddenLost)))
	}
}

// loseHidden notes that an instance goes on without them.
func (a *Archive) loseHidden(r Recovered) error {
	if !slices.ContainsFunc(a.Manifest.Breaches, func(b archive.Breach) bool { return b.Hides(r.Base.ID) }) {
		return nil
	}
	return a.save(func(m *archive.Manifest) { m.Lose(r.Base.ID, hiddenLost) })
}

// BlindWhat is what a breach is called by which the log may lack commits.
func BlindWhat(why []string) string {
	what := "a session may have switched the log off: " + why[len(why)-1]
	if n := len(why) - 1; n > 0 {
		what += fmt.Sprintf(", and %d more", n)
	}
	return what
}
