package sys

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	schedRR = 2
	// resetOnFork keeps threads and processes that this one makes from being urgent too.
	resetOnFork = 1
	// lowestPriority of SCHED_RR is above all ordinary threads.
	lowestPriority = 1
	// urgentNice is what a thread asks for that may not have SCHED_RR.
	urgentNice = -10
)

const (
	// urgentLook is the time between two looks at an urgent thread, which may run for three quarters of it.
	// One that runs longer has gone wrong, and is made an ordinary one: it must not keep the machine
	// from its users. RLIMIT_RTTIME is no help: Go interrupts a thread that runs on, which counts as sleep.
	urgentLook = time.Second
)

// Urgency is a thread that the kernel runs as soon as it has something to do. See sched(7).
type Urgency struct {
	// First says that the thread goes before all ordinary ones.
	First bool

	tid        int
	stop, done chan struct{}
}

// MakeUrgent makes the calling thread urgent until End, which its goroutine is locked to and which sleeps
// after each bit of work. With the right to it the thread goes before all ordinary ones (SCHED_RR), with
// less it is preferred to them (nice), and otherwise it stays as it is. Where the kernel keeps a part of
// the time for ordinary threads (sched_rt_runtime_us) these run in any case.
func MakeUrgent() *Urgency {
	u := &Urgency{tid: unix.Gettid(), stop: make(chan struct{}), done: make(chan struct{})}
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: schedRR, Priority: lowestPriority, Flags: resetOnFork}
	if unix.SchedSetAttr(u.tid, &attr, 0) != nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, u.tid, urgentNice) // as good as it gets
		close(u.done)
		return u
	}
	u.First = true
	go u.watch()
	return u
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

// watch makes it an ordinary thread if it hardly sleeps.
func (u *Urgency) watch() {
	defer close(u.done)
	looks := time.NewTicker(urgentLook)
	defer looks.Stop()
	ran, when := u.ran(), time.Now()
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
	}
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
