package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// waitingTooLong is for how long bytes of the log may wait until they are archived, beyond the interval of
// --durable=INTERVAL, without a word.
const waitingTooLong = 5 * time.Second

// promises looks after what a durable instance depends on. It is the watch's.
type promises struct {
	// kept is when all was as it is to be, and broken what is not, since then; "" for nothing.
	kept   time.Time
	broken string
	// waiting says that the log waits to be archived; others how many foreign replicas answer commits.
	waiting bool
	others  int
	// warned are the others of the look before.
	before int
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
	level, interval := w.inst.Spec.Durability()
	p.waiting = w.keeper.Waiting() > waitingTooLong+interval
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
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
	if len(broken) == 0 && p.broken == "" {
		p.kept = looked
		return nil
	}
	var texts []string
	for _, b := range broken {
		texts = append(texts, b.String())
		if _, serr := w.db.ExecContext(ctx, b.SQL()); serr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", b.SQL(), serr))
		}
	}
	if len(texts) > 0 {
		p.broken = strings.Join(texts, ", ")
	}
	if err != nil {
		return err
	}
	if len(broken) > 0 {
		w.keeper.Renew()
	}
	w.log.Warn("outside of the promise, and put back", "what", p.broken)
	w.keeper.Breach(p.kept, time.Now(), p.broken)
	p.kept, p.broken = time.Now(), ""
	return nil
}

// lookAtReplicas counts the semi-synchronous replicas besides the archive: what they acknowledge is answered,
// archived or not.
func (w *watch) lookAtReplicas(ctx context.Context) error {
	if w.keeper == nil || w.inst.Spec.Durable != instance.DurableCommit {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	n, err := dbconn.ForeignReplicas(ctx, w.db)
	if err != nil {
		return err
	}
	p := &w.promises
	p.before, p.others = n, min(n, p.before)
	return nil
}

// promiseWarnings are what there is to say of the promise now.
func (w *watch) promiseWarnings() (list []string) {
	if w.keeper == nil {
		return nil
	}
	p := &w.promises
	if text := w.archiveWarning(); text != "" {
		list = append(list, text)
	} else if p.waiting {
		list = append(list, fmt.Sprintf("the disk of the archive in %s does not answer, and %s until it does\nhint: dmesg; what waits goes on by itself", w.archiveDir, w.stuck()))
	}
	if p.broken != "" {
		list = append(list, fmt.Sprintf("it is outside of the promise since %s: %s; that could not be put back\nhint: ramaria down %s && ramaria up %[3]s", p.kept.Local().Format(time.DateTime), p.broken, w.inst.Name))
	}
	if p.others > 0 {
		list = append(list, "another semi-synchronous replica acknowledges commits, so that some are answered before they are archived\nhint: rpl_semi_sync_slave_enabled=0 (MySQL: rpl_semi_sync_replica_enabled) there")
	}
	if st := w.standing.Load(); st != nil {
		list = append(list, st.Warnings...)
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
	from := w.promises.kept
	w.log.Warn("the binary log was begun again, as by RESET MASTER; the server restarts, and a base backup is made", "error", why)
	st := w.state
	st.Phase = instance.Starting
	if err := w.enter(st); err != nil {
		w.log.Error("cannot write state", "error", err)
	}
	w.logs.Remove(archiveConsumer)
	w.proc.Kill()
	w.closeDB()
	err := w.keeper.BeginAgain(ctx, w.keys, from)
	if err == nil {
		err = w.startAgain(ctx, nil)
	}
	if err == nil {
		err = w.serveArchive()
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
