package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/divergence"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/room"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// watchInterval is the least time between two looks at room and memory.
	watchInterval = time.Second
	// watchShare bounds what looking costs: at most one part in this many of the time, unless
	// that would be longer than watchMost and one part in busyShare: on a busy machine a look takes
	// long and costs little, and what it finds is wanted all the same.
	watchShare = 500
	watchMost  = 5 * time.Second
	busyShare  = 10
	// restInterval is the time between two looks while nothing is written, if a volume cannot be full
	// within restFar times as much.
	restInterval = 2 * time.Second
	restFar      = 2
	// tmpShare is the part of the room for temporary files at which a warning appears.
	tmpShare = 0.9
	// fullRoom is the room, in bytes, at which a volume counts as full: the server
	// can no longer extend a tablespace or begin another log file.
	fullRoom = server.BinlogFileSize
	// keepBinlogs is how many binary log files stay, the one in use included.
	keepBinlogs = 2
	// accountInterval is the least time between two questions after the supervisor's own account.
	accountInterval = 5 * time.Second
	// poolInterval is the time between two questions after a buffer pool that nothing is read into.
	poolInterval = 5 * time.Second
)

// accountWarning is said when the application has removed the supervisor's account.
const accountWarning = "the supervisor's account was removed; ramaria up after down restores it"

// watch looks after a running instance.
type watch struct {
	*Supervisor
	// purged is the last binary log file that was purged up to.
	purged string
	// gauge is how full the volume is, growth how fast it fills, and room what was said of its
	// level, "" for nothing.
	gauge  room.Gauge
	growth room.Growth
	room   string
	// kept is what binary logs took that come and go, when of bytes were used.
	kept struct{ of, bytes int64 }
	// read is what the brake has read in the same look, nil if it took none.
	read *volume.Reading
	// used is what was used in the last look, and usedBefore in the one before.
	used, usedBefore int64
	// roomTold is when room.json was last written, and contentsTold what it then said of the files.
	roomTold     time.Time
	contentsTold *client.Contents
	// swapSeen is how much the machine had swapped out when the census was last told of it, and
	// swaps that there is anything to say of that.
	swapSeen int64
	swaps    bool
	// poolReads is how many pages had been read into the buffer pool at the last look, 0 before.
	poolReads int64
	// poolAsked is when the server was last asked for its buffer pool, and poolIdle that it had read
	// nothing into it, and that it cannot be made smaller.
	poolAsked time.Time
	poolIdle  bool
	// tmp is what there is to say of the room for temporary files, "" for nothing.
	tmp string
	// brake is what the brake has to say, "" for nothing.
	brake string
	// asked is when the watch last asked after its account; refused says that the server knows it
	// no more.
	asked   time.Time
	refused bool
	// source is what there is to say of the source of a replica, "" for nothing, and told what was last written of it.
	source string
	told   instance.Following
	// heard is when the server of a replica last said how it follows, and stood where it was since stoodSince.
	heard, stoodSince time.Time
	stood             string
	// fullAt is where the applier of a replica was in the last look.
	fullAt string
	// following are the replicas that the log was last kept for, with the file from which on.
	following map[string]string
	// target is what was last found of the target of a hand-over.
	target instance.HandingOver
	// targetFinder looks for what the target may not have repeated; nil before the first look.
	targetFinder *divergence.Finder
	// awaited is what there is to say of the replica that commits wait for, "" for nothing, early how many were answered
	// before it had them, and foreign how many others acknowledge.
	awaited string
	early   int64
	foreign int
	// answered is how many commits were acknowledged when that, at answeredAt, was last another number, or none waited.
	answered   int64
	answeredAt time.Time
	// promises are about durable instances.
	promises promises
	// trouble is the last error of each thing looked at, said once.
	trouble map[string]string
}

// look takes one look and returns when to take the next.
func (w *watch) look(ctx context.Context) time.Duration {
	began := time.Now()
	if w.gone() {
		// No command can find it now.
		w.killedFor = "its directory was taken away, by hand or with its volume"
		w.log.Error(w.killedFor)
		w.proc.Kill()
		return watchInterval
	}
	w.note("cannot watch the volume", w.lookAtRoom(began))
	w.note("cannot keep what a durable instance depends on", w.lookAtPromises(ctx))
	if w.serverEnded() {
		return watchInterval
	}
	w.note("cannot look for commits that did not wait", w.lookAtUnacked(ctx))
	w.note("cannot look at what is in no log", w.lookBesideLog(ctx))
	w.note("cannot look at the source", w.lookAtSource(ctx))
	w.note("cannot look at the cluster", w.lookAtCluster(ctx))
	w.note("cannot keep commits waiting for a replica", w.lookAtSync(ctx))
	w.note("cannot look at the hand-over", w.lookAtHandOver(ctx)) // before a purge
	err := w.purge(ctx)
	w.note("cannot purge the binary log", err)
	w.note("cannot resize the buffer pool", w.resizeBufferPool(ctx))
	if time.Since(w.asked) >= accountInterval && err == nil {
		w.asked = time.Now()
		err = w.askAccount(ctx)
		w.note("cannot look at the application's account", w.lookAtPassword(ctx))
		w.note("cannot look at replicas", w.lookAtReplicas(ctx))
		w.note("cannot remove accounts of former replicas", w.sweepAccounts(ctx))
		w.note("cannot remove accounts of former hand-overs", w.sweepTargets(ctx))
	}
	w.refused = w.refused || dbconn.AccountLost(err)
	w.tell()
	next := pauseAfter(time.Since(began))
	// Not counted in that: copying a full log would have the next look wait for long.
	if !w.gone() {
		w.note("cannot put the server's log aside", putLogAside(w.inst.LogPath(), w.inst.OldLogPath()))
	}
	return next
}

// lookAtBrake has the brake look.
func (w *watch) lookAtBrake(ctx context.Context, b *brake) {
	var err error
	was := w.brake != ""
	w.brake, err = b.look(ctx)
	w.read = b.read
	if was != (w.brake != "") {
		w.note("cannot watch the volume", w.lookAtRoom(time.Now()))
		w.note("cannot say that the replica is stopped", w.sayHalted())
	}
	w.note("cannot make the server read-only", err)
	w.tell()
}

// rests reports whether looks can be less frequent: nothing was written since the last one, and the
// volume will not be full soon, however much is written now. A durable instance has promises to keep.
func (w *watch) rests(b *brake) bool {
	was := w.usedBefore
	w.usedBefore = w.used
	near := brakes(w.volume) && b.far < restFar*restInterval
	return w.used == was && !near && !w.durable() && w.inst.WaitsFor == "" && w.gauge.Level() == room.Ample
}

// pauseAfter is how long to wait after a look that took so long.
func pauseAfter(took time.Duration) time.Duration {
	return max(watchInterval, min(watchShare*took, max(watchMost, busyShare*took)))
}

// note logs an error, once for as long as it stays the same. A look that was broken off since the
// instance ends is no trouble: ramaria run would show it to who runs a short command.
func (w *watch) note(what string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != w.trouble[what] {
		w.log.Error(what, "error", err)
	}
	if w.trouble == nil {
		w.trouble = map[string]string{}
	}
	w.trouble[what] = text
}

// tell writes the warnings to state.json and to the log where they are others.
func (w *watch) tell() {
	var warnings, notices []string
	switch {
	case w.brake != "": // it says what room says, and more
		warnings = []string{w.brake}
	case w.gauge.Level() == room.Notice:
		notices = []string{w.room}
	case w.room != "":
		warnings = []string{w.room}
	}
	if w.swaps {
		notices = append(notices, swapNotice)
	}
	if text := w.tmpWarning(); text == "" || w.tmp == "" {
		w.tmp = text // then it stays: its numbers change with every write
	}
	if w.tmp != "" {
		warnings = append(warnings, w.tmp)
	}
	warnings = append(warnings, w.promiseWarnings()...)
	if text := w.passwordWarning(); text != "" {
		warnings = append(warnings, text)
	}
	if text := w.clusterWarning(); text != "" {
		warnings = append(warnings, text)
	}
	if text := w.deafWarning(); text != "" {
		warnings = append(warnings, text)
	}
	if w.source != "" {
		warnings = append(warnings, w.source)
	}
	if text := w.divergenceWarning(); text != "" {
		warnings = append(warnings, text)
	}
	if w.awaited != "" {
		warnings = append(warnings, w.awaited)
	}
	if w.refused {
		warnings = append(warnings, accountWarning)
	}
	slowed, blind := w.slowedSince(), w.blindSince()
	if slices.Equal(warnings, w.state.Warnings) && slices.Equal(notices, w.state.Notices) && (slowed == nil) == (w.state.SlowedSince == nil) && (blind == nil) == (w.state.BlindSince == nil) && !w.tmpUsage() {
		return
	}
	for _, text := range warnings {
		if !slices.Contains(w.state.Warnings, text) {
			w.log.Warn(text, w.about(text)...)
		}
	}
	for _, text := range notices {
		if !slices.Contains(w.state.Notices, text) {
			w.log.Info(text, w.about(text)...)
		}
	}
	w.state.Warnings, w.state.Notices, w.state.SlowedSince, w.state.BlindSince = warnings, notices, slowed, blind
	w.note("cannot write state", w.saveState())
}

// about is what the log says beside a text: the numbers that status has in lines of their own.
func (w *watch) about(text string) []any {
	r := w.Supervisor.room.Load()
	switch {
	case r == nil:
	case text == swapNotice && r.Swap != nil && r.Swap.FilesBytes != nil:
		return []any{"swapped", volume.FormatBytes(*r.Swap.FilesBytes), "of", volume.FormatBytes(r.Swap.OfBytes)}
	case (text == w.room || text == w.brake) && r.GrowthBytesPerHour > 0:
		return []any{"growth", grows(*r)}
	}
	return nil
}

// askAccount asks the server for the rights of the supervisor's account, which, in
// a session that outlives it, is an error when it was removed.
func (w *watch) askAccount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	_, err := w.db.ExecContext(ctx, "SHOW GRANTS")
	return err
}

// purge lets the server remove all but the newest binary log files, and those that a
// consumer of the log needs.
func (w *watch) purge(ctx context.Context) error {
	if w.noLog() {
		return nil
	}
	files, err := binlog.Files(w.inst.DataDir(), server.BinlogName)
	if err != nil {
		return err
	}
	if err := w.lookAtLog(files); err != nil {
		return err
	}
	keep := keepBinlogs
	if w.isMember() {
		keep = keepMemberBinlogs
	}
	if len(files) <= keep {
		w.purged = "" // RESET MASTER restarts the numbers
		return nil
	}
	if files[len(files)-keep] == w.purged {
		return nil
	}
	w.keepForFollowers(files)
	upTo := files[len(files)-max(keep, w.logs.Needed(files))]
	if upTo == w.purged || upTo == files[0] { // a consumer needs the rest
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	if _, err := w.db.ExecContext(ctx, "PURGE BINARY LOGS TO '"+upTo+"'"); err != nil {
		return fmt.Errorf("purge binary logs to %s: %w", upTo, err)
	}
	w.purged = upTo
	if len(files) > mostLogKept+keepBinlogs {
		return w.leaveBehind(ctx)
	}
	return nil
}
