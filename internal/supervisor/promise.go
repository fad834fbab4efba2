package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// putBackPatience is how long one look may take, with what it puts back.
const putBackPatience = 3 * time.Second

// mostChanged is how many names a breach tells.
const mostChanged = 5

// promises looks after what a durable instance depends on. It is the watch's.
type promises struct {
	// kept is when all was as it is to be, and broken what has not been since then.
	kept   time.Time
	broken []string
	// others is how many foreign replicas answer commits, and before what the look before found.
	others, before int
	// unacked is how many commits were answered before the archive had them, all that this server has
	// counted, and early those that it does not have yet: it will when it comes to until.
	unacked, early int64
	until          archive.Position
	// besideLog is what there is that is in no log, if the last base has other and that was told of, and sawBesideLog is
	// when it had all.
	besideLog    []string
	sawBesideLog time.Time
	// openFirst are the accounts that may switch the log off at the first look, where the newest base does not say: one
	// of a directory that was adopted, or by a version that did not ask, or of a run before of which they were told.
	openFirst []dbconn.Holder
	// routines says that the keeper knows which routines there were.
	routines bool
	// unseen is since when the looks at these have failed, zero if the last one has not.
	unseen time.Time
	// lookWithin is how long the next of them may take: longer behind one that was cut off, 0 for the usual.
	lookWithin time.Duration
}

// lookAtPromises takes a look, and puts back what it can.
func (w *watch) lookAtPromises(ctx context.Context) error {
	if w.keeper == nil {
		return nil
	}
	p := &w.promises
	if err := w.keeper.Lost(); err != nil {
		return w.beginAgain(ctx, err)
	}
	level, _ := w.inst.Spec.Durability()
	ctx, cancel := context.WithTimeout(ctx, putBackPatience)
	defer cancel()
	if p.kept.IsZero() {
		p.kept = w.state.Since
	}
	all := w.inst.Server.Promises(level, w.inst.Volume)
	looked := time.Now()
	broken, err := server.BrokenPromises(ctx, w.db, all)
	if err != nil {
		return err
	}
	if len(broken) == 0 && p.broken == nil {
		p.kept = looked
		return nil
	}
	for _, b := range broken {
		if text := b.String(); !slices.Contains(p.broken, text) {
			p.broken = append(p.broken, text)
		}
		if _, serr := w.db.ExecContext(ctx, b.SQL()); serr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", b.SQL(), serr))
		}
	}
	if err != nil {
		return err
	}
	if len(broken) > 0 {
		w.keeper.Renew()
	}
	what := strings.Join(p.broken, ", ")
	w.log.Warn("outside of the promise, and put back", "what", what)
	w.keeper.Breach(p.kept, time.Now(), what)
	p.kept, p.broken = time.Now(), nil
	return nil
}

// foreignAcks is said of a semi-synchronous replica besides that which commits wait for, and noAcks is its hint.
const (
	foreignAcks = "another semi-synchronous replica acknowledges commits, so that some are answered before "
	noAcks      = "hint: rpl_semi_sync_slave_enabled=0 (MySQL: rpl_semi_sync_replica_enabled) there, and STOP and START of it"
)

// lookAtReplicas counts the semi-synchronous replicas besides the archive: what they acknowledge is answered,
// archived or not.
func (w *watch) lookAtReplicas(ctx context.Context) error {
	if w.keeper == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	_, n, err := dbconn.SemisyncReplicas(ctx, w.db, dbconn.SupervisorUser)
	if err != nil {
		return err
	}
	p := &w.promises
	p.before, p.others = n, min(n, p.before)
	return nil
}

// lookAtUnacked finds commits that MariaDB answered before the archive had them: KILL QUERY ends the wait
// of a commit with success.
func (w *watch) lookAtUnacked(ctx context.Context) error {
	if w.keeper == nil || w.inst.Server.Flavour != server.MariaDB {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	n, err := dbconn.Unacknowledged(ctx, w.db)
	if err != nil {
		return err
	}
	p := &w.promises
	more := n - p.unacked
	p.unacked = n
	if more > 0 {
		if p.until, err = w.keeper.Written(); err != nil {
			return err
		}
		p.early += more
		w.log.Warn("commits were answered before the archive has them: KILL QUERY ended their wait", "commits", more)
	}
	if p.early > 0 && !w.keeper.Shipped().Before(p.until) && !w.keeper.Fenced() {
		p.early = 0
		w.log.Info("the archive has what was answered before")
	}
	return nil
}

// lookBesideLog finds what was changed since the last base by statements that are in no log, though what follows in
// the log may need it.
func (w *watch) lookBesideLog(ctx context.Context) error {
	if w.keeper == nil {
		return nil
	}
	p := &w.promises
	p.lookWithin = max(p.lookWithin, watchInterval)
	limited, cancel := context.WithTimeout(ctx, p.lookWithin)
	defer cancel()
	looked := time.Now()
	now, err := dbconn.BesideLog(limited, w.db, w.inst.Server.Flavour == server.MySQL, w.inst.Server.Family().Blinding())
	if err != nil {
		if limited.Err() != nil { // as on a machine with 30 times the work that it can do
			p.lookWithin = min(2*p.lookWithin, routinesPatience)
		}
		w.unseen(ctx, looked, err)
		return err
	}
	p.lookWithin = 0
	w.keeper.Look(now)
	if !p.routines { // once, and there may be many
		patient, cancel := context.WithTimeout(ctx, routinesPatience)
		defined, err := durable.DefinedIn(patient, w.db, now)
		cancel()
		if err != nil {
			w.unseen(ctx, looked, err)
			return err
		}
		w.keeper.LookAtRoutines(defined)
		p.routines = true
	}
	p.unseen = time.Time{}
	w.lookForHolders(dbconn.Holders(now), dbconn.Holders(w.keeper.BesideLog()))
	changed := dbconn.ChangedBesideLog(w.keeper.BesideLog(), now)
	switch {
	case len(changed) == 0:
		p.besideLog, p.sawBesideLog = nil, looked
	case !slices.Equal(now, p.besideLog):
		what := "changed by what is in no log: " + strings.Join(changed[:min(len(changed), mostChanged)], ", ")
		w.log.Warn("outside of the promise until the next base backup", "what", what)
		w.keeper.Breach(cmp.Or(p.sawBesideLog, w.state.Since), looked, what)
		p.besideLog = now
	}
	return nil
}

// lookPatience is how long it may not be seen who may switch the log off, and routinesPatience how long the look at all
// routines may take, which holds up what else the supervisor does, and each other look once shorter ones were cut off.
const lookPatience, routinesPatience = 20 * time.Second, 5 * time.Second

// unseen notes that a look which began at a time has failed. Where that goes on, somebody may see to it, who has locked a
// table of the server's own, or taken it away: what only the look tells of is hidden then. It says nothing while the server
// answers nobody, and while statements about accounts may hold such locks, which wait for the archive.
func (w *watch) unseen(ctx context.Context, began time.Time, why error) {
	p := &w.promises
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	switch {
	case dbconn.IsView(why): // which no lock explains
		w.keeper.Blinded(viewInPlace)
	case w.archiveWarning() != "", w.keeper.Fenced(), w.db.PingContext(ctx) != nil:
		p.unseen = time.Time{}
	case p.unseen.IsZero():
		p.unseen = began
	case time.Since(p.unseen) >= lookPatience:
		w.keeper.Blinded("nobody could look who may, for " + lookPatience.String())
	}
}

// lookForHolders looks who may switch the log off that somebody can log in as, and could not when the newest base was made.
// The application's account is always one too many: it has such a right by a role only, which no start takes from it.
func (w *watch) lookForHolders(now, known []dbconn.Holder) {
	p := &w.promises
	if p.openFirst == nil && (len(known) == 0 || w.keeper.Mended()) {
		p.openFirst = append([]dbconn.Holder{}, now...)
	}
	for _, h := range now {
		if (!h.Shut && h.Is(w.inst.Endpoint.User)) || h.Opened(slices.Concat(known, p.openFirst)) {
			w.keeper.Blinded("account " + h.String() + " may")
		}
	}
}

// promiseWarnings are what there is to say of the promise now.
func (w *watch) promiseWarnings() (list []string) {
	if w.keeper == nil {
		return nil
	}
	p := &w.promises
	if text := w.archiveWarning(); text != "" {
		list = append(list, text)
	} else if since := w.slowedSince(); since != nil {
		list = append(list, w.slowedText(*since))
	}
	if p.broken != nil {
		list = append(list, fmt.Sprintf("it is outside of the promise since %s: %s; that could not be put back\nhint: ramaria down %s && ramaria up %[3]s", p.kept.Local().Format(time.DateTime), strings.Join(p.broken, ", "), w.inst.Name))
	}
	if text := w.blindWarning(); text != "" {
		list = append(list, text)
	}
	if p.early > 0 {
		list = append(list, fmt.Sprintf("%d commits were answered that are not in the archive yet: KILL QUERY, or Ctrl-C in a client, ended their wait", p.early))
	}
	if p.others > 0 {
		list = append(list, foreignAcks+"they are archived\n"+noAcks)
	}
	if st := w.standing.Load(); st != nil {
		list = append(list, st.Warnings...)
	}
	if texts := w.bucketWarnings.Load(); texts != nil {
		list = append(list, *texts...)
	}
	return list
}

// beginAgain answers a log that was begun again, as by RESET MASTER: since then commits wait. The server is
// killed, so that none of them is answered, and a base begins another epoch.
func (w *watch) beginAgain(ctx context.Context, why error) error {
	if !w.basing.TryLock() {
		return nil // one look later
	}
	defer w.basing.Unlock()
	from := cmp.Or(w.promises.kept, w.state.Since) // before the first look
	w.log.Warn("the binary log was begun again, as by RESET MASTER; the server restarts, and a base backup is made", "error", why)
	st := w.state
	st.Phase = instance.Starting
	if err := w.enter(st); err != nil {
		w.log.Error("cannot write state", "error", err)
	}
	w.logs.Remove(archiveConsumer)
	w.proc.Kill()
	w.closeDB()
	err := w.keeper.BeginAgain(ctx, w.options.Keys, from)
	if err == nil {
		err = w.startAgain(ctx, nil)
	}
	if err == nil {
		err = w.serveArchive(ctx)
	}
	if err == nil {
		err = w.joinCluster(ctx)
	}
	if err != nil {
		w.killedFor = fmt.Sprintf("the binary log was begun again, as by RESET MASTER, and its archive could not: %v\nhint: ramaria up %s recovers what was archived before", err, w.inst.Name)
		w.proc.Kill()
		return err
	}
	w.purged = ""
	w.promises = promises{kept: time.Now()}
	return nil
}
