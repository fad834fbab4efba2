package sys

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	schedRR = 2
	// resetOnFork keeps threads and processes that this one makes from being urgent too.
	resetOnFork = 1
	// lowestPriority of SCHED_RR is above all ordinary threads.
	lowestPriority = 1
	// mostNice and shortSlice are those of an ordinary thread that is preferred to all others, the second in ns.
	// urgentNice is what one asks for that may not have that.
	mostNice, shortSlice = -20, 100_000
	urgentNice           = -10
)

const (
	// urgentLook is the time between two looks at an urgent thread, which may run for three quarters of it.
	// One that runs longer has gone wrong, and is made an ordinary one: it must not keep the machine
	// from its users. RLIMIT_RTTIME is no help: Go interrupts a thread that runs on, which counts as sleep.
	urgentLook = time.Second
	// fewIdle is the share of the time that processors are idle below which the machine is taken for busy.
	fewIdle = 0.05
)

// Urgency is a thread that the kernel runs as soon as it has something to do. See sched(7).
type Urgency struct {
	// First says that the thread goes before all ordinary ones.
	First bool

	tid        int
	stop, done chan struct{}
}

// MakeUrgent makes the calling thread urgent until End, which its goroutine is locked to and which sleeps
// after each bit of work. With the right to it the thread goes before all ordinary ones, with less it is preferred
// to them (nice), and otherwise it stays as it is. Where the kernel keeps a part of the time for ordinary threads
// (sched_rt_runtime_us) these run in any case.
//
// While processors are idle, being preferred is enough: a thread of SCHED_RR wakes where it slept and takes that
// processor from what runs there, idle ones or not. (8 threads of sysbench on an idle machine of two processors
// commit 12 % more without it; on one that is busy with other things, half more with it.)
func MakeUrgent() *Urgency {
	u := &Urgency{tid: unix.Gettid(), stop: make(chan struct{}), done: make(chan struct{})}
	if u.first(true) != nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, u.tid, urgentNice) // as good as it gets
		close(u.done)
		return u
	}
	_ = u.first(false) // without the right to it, the thread goes first all the time
	u.First = true
	go u.watch()
	return u
}

// first has the thread go before all ordinary ones, or, on a machine that is not busy, be preferred to them.
func (u *Urgency) first(busy bool) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Nice: mostNice, Runtime: shortSlice, Flags: resetOnFork}
	if busy {
		attr = unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: schedRR, Priority: lowestPriority, Flags: resetOnFork}
	}
	return unix.SchedSetAttr(u.tid, &attr, 0)
}

// MayBeUrgent reports whether MakeUrgent would have a thread of this process go before all ordinary ones.
func MayBeUrgent() bool {
	first := make(chan bool)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		u := MakeUrgent()
		is := u.First
		u.End()
		first <- is
	}()
	return <-first
}

// watch makes it an ordinary thread if it hardly sleeps, and looks how busy the machine is.
func (u *Urgency) watch() {
	defer close(u.done)
	looks := time.NewTicker(urgentLook)
	defer looks.Stop()
	ran, when := u.ran(), time.Now()
	was, busy := processorTime(), false
	for {
		select {
		case <-u.stop:
			return
		case <-looks.C:
		}
		now, at := u.ran(), time.Now()
		if now-ran > at.Sub(when)/4*3 {
			u.calm()
			return
		}
		ran, when = now, at
		is := processorTime()
		if isBusy := is.idle-was.idle < fewIdle*(is.all-was.all); isBusy != busy && u.first(isBusy) == nil {
			busy = isBusy
		}
		was = is
	}
}

// processorTimes are those of all processors since the machine started, in ticks.
type processorTimes struct{ idle, all float64 }

// processorTime reads /proc/stat; see proc_stat(5). Where it cannot be read the machine is not busy.
func processorTime() (t processorTimes) {
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(b), "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil || i > 8 { // "cpu", and guests, whose time is in that of users
			continue
		}
		if t.all += n; i == 4 || i == 5 { // idle, and waiting for a disk
			t.idle += n
		}
	}
	return t
}

// ran is the processor time of the thread. Its clock is what the C library calls that of a thread:
// pthread_getcpuclockid(3).
func (u *Urgency) ran() time.Duration {
	const ofThread = 6
	var t unix.Timespec
	if unix.ClockGettime(int32(^u.tid<<3|ofThread), &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// calm makes it an ordinary thread.
func (u *Urgency) calm() {
	_ = unix.SchedSetAttr(u.tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr}, 0) // it was allowed to be more
}

// End makes the thread, which is the calling one, an ordinary one again.
func (u *Urgency) End() {
	close(u.stop)
	<-u.done
	u.calm()
}
