package durable

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/server"
)

// Blind is since when a session may have committed what the log does not have, and why: it may have got a right by
// which it can. The zero value is never. It ends with the server: no session outlives that, and its application's
// account has no more than its own rights when it starts again.
type Blind struct {
	Since time.Time `json:"since"`
	Why   []string  `json:"why"`
}

// mostBlind is how many reasons are kept.
const mostBlind = 20

// empowers says how an event may give a session the right to switch the log off, "" if it cannot.
func (f *fences) empowers(e *binlog.Event) string {
	switch {
	case e.Type == binlog.TableMapEvent && f.meter.mapped != nil:
		return repeatable.ByTable(f.meter.mapped.Schema, f.meter.mapped.Table)
	case e.Type == binlog.QueryEvent && !binlog.Begins(e):
		if q, err := binlog.ParseQuery(e); err == nil {
			return f.powers.Load().ByQuery(&q, f.server.Flavour == server.MySQL)
		}
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
	if err := f.saved(); err != nil {
		f.log.Error("cannot write down that the log may lack commits", "error", err)
	}
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
	all, _ := dbconn.Powerful(besideLog)
	for _, account := range all {
		if name := account[:max(0, strings.LastIndexByte(account, '@'))]; name != "" {
			p.Accounts = append(p.Accounts, name)
		}
	}
	for _, right := range s.DialectOf(server.Acknowledged).Withheld {
		if right != "RELOAD" { // a log that is begun again is noticed by itself
			p.Rights = append(p.Rights, right)
		}
	}
	return p
}

// blindingQuery asks for routines and events, who defined them, and what they do; those of the server's own cannot.
const blindingQuery = `SELECT CONCAT(routine_schema, '.', routine_name), definer, routine_definition FROM information_schema.routines WHERE routine_schema NOT IN ('mysql', 'sys')
	UNION ALL SELECT CONCAT(event_schema, '.', event_name), definer, event_definition FROM information_schema.events`

// blindingIn lists, for what is outside of the promise, who may switch the log off without a trace in it: accounts that
// have a right to, and routines and events of such accounts that do, or that execute what they are given.
func blindingIn(ctx context.Context, db *sql.DB, besideLog []string) (list []string, err error) {
	const may = " may switch the log off"
	all, open := dbconn.Powerful(besideLog)
	for _, account := range open {
		list = append(list, "account "+account+may)
	}
	err = dbconn.Query(ctx, db, blindingQuery, func(cols []string) error {
		does := strings.ToLower(cols[2])
		if slices.Contains(all, cols[1]) && (strings.Contains(does, "sql_log_bin") || strings.Contains(does, "prepare ") || strings.Contains(does, "immediate ")) {
			list = append(list, cols[0]+" of "+cols[1]+may)
		}
		return nil
	})
	return list, err
}

// sighted goes on after a run in which a session may have committed what the log does not have: a base is made, which
// has that.
func (k *Keeper) sighted() error {
	f := k.fences
	if f.blind.Since.IsZero() {
		return nil
	}
	k.Breach(f.blind.Since, time.Now(), BlindWhat(f.blind.Why))
	if err := k.SaveBreaches(); err != nil {
		return err
	}
	f.blind = Blind{}
	return f.changed()
}

// BlindWhat is what a breach is called by which the log may lack commits.
func BlindWhat(why []string) string {
	return "a session may have switched the log off: " + why[len(why)-1]
}
