package wheatfs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// fuseFD is the daemon's descriptor of /dev/fuse. Its keeper has closed its own: when the daemon dies,
	// requests fail, and nothing hangs.
	fuseFD = 3
	// reportInterval is how often the daemon tells its keeper where the data lies, if that has changed.
	reportInterval = 100 * time.Millisecond
	// heapGrowth is the GOGC of the daemon, whose heap is the books of the store, made once: there is little to collect.
	heapGrowth = 400
)

// parameters are what the keeper tells the daemon first.
type parameters struct {
	Size int64  `json:"size"`
	RAM  int64  `json:"ram"`
	Disk string `json:"disk"` // directory
}

// order is what the keeper tells it later: each field that is set.
type order struct {
	// Place and Device are where the file system is mounted, and from which device.
	Place  string `json:"place,omitempty"`
	Device string `json:"device,omitempty"`
	// RAM is another limit than that of the parameters.
	RAM *int64 `json:"ram,omitempty"`
	// Structures is how many bytes at the head of the device are the file system's own.
	Structures int64 `json:"structures,omitempty"`
}

// Report is what the daemon tells its keeper.
type Report struct {
	Usage
	// Locked says that what lies in RAM cannot be swapped out, Flusher that the kernel knows that it must not
	// wait for this daemon to get memory.
	Locked  bool `json:"locked"`
	Flusher bool `json:"flusher"`
	// Pressed says that the memory of the machine, or of the control group, is less than RAM asks for.
	Pressed bool `json:"pressed"`
	// Error is the last that the disk had, "" if it works.
	Error string `json:"error,omitempty"`
}

// Serve is the daemon: it serves one device, as its keeper says on in, until the kernel needs it no longer, and
// reports to out.
func Serve(in io.Reader, out io.Writer) error {
	// A service manager signals all of a service: the keeper ends it all, in order. And a keeper that was killed is
	// no reason to end.
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	debug.SetGCPercent(heapGrowth)
	var p parameters
	orders := json.NewDecoder(in)
	if err := orders.Decode(&p); err != nil {
		return fmt.Errorf("read parameters: %w", err)
	}
	store, err := NewStore(p.Size, p.RAM, p.Disk)
	if err != nil {
		return err
	}
	r := Report{Locked: store.Lock() == nil && sys.LockMemory() == nil, Flusher: sys.IsFlusher()}
	g := governor{store: store, machine: host.Host{}, changed: make(chan struct{}, 1)}
	g.ram.Store(p.RAM)
	store.recount = g.recount
	done := make(chan struct{})
	governed := make(chan struct{})
	reports := newReporter(out)
	go func() {
		defer close(governed)
		g.run(done, reports, r)
	}()
	go g.obey(orders)
	err = serve(os.NewFile(fuseFD, "/dev/fuse"), &device{store: store})
	if err != nil {
		return fmt.Errorf("serve device: %w", err) // the others may be at work still
	}
	close(done)
	<-governed
	return store.Close()
}

// reporter tells the keeper the newest report, when it listens: one that was stopped must not stop the daemon.
type reporter chan Report

func newReporter(out io.Writer) reporter {
	r := make(reporter, 1)
	go func() {
		to := json.NewEncoder(out)
		for report := range r {
			if err := to.Encode(report); err != nil {
				to = json.NewEncoder(io.Discard) // the keeper was killed
			}
		}
	}()
	return r
}

// tell is called by one at a time.
func (r reporter) tell(report Report) {
	select {
	case <-r: // an older one that was not taken
	default:
	}
	r <- report
}

// governor keeps the budget of a store within what the machine has.
type governor struct {
	store   *Store
	ram     atomic.Int64
	machine machine
	// structures are how many bytes at the head are the file system's own.
	structures atomic.Int64
	// changed has something when ram has changed.
	changed chan struct{}
}

// machine tells what there is: host.Host.
type machine interface {
	Memory() (host.Memory, error)
	HugePages() (int64, error)
}

// obey does as the keeper says. When that has been killed it takes the file system away from its place: who has files
// open in it keeps these, and with the last of them all is gone.
func (g *governor) obey(orders *json.Decoder) {
	var at order
	for {
		var o order
		if orders.Decode(&o) != nil { // which is the keeper's end
			break
		}
		if o.Place != "" {
			at = o
		}
		if o.Structures > 0 {
			g.structures.Store(o.Structures)
		}
		if o.RAM != nil {
			g.ram.Store(*o.RAM)
			select {
			case g.changed <- struct{}{}:
			default:
			}
		}
	}
	if at.Place != "" {
		_ = takeAway(at.Place, at.Device, true)
	}
}

// keptFree is how much memory, in bytes, is left to the rest of the machine, or of the control group: a part of it,
// and not more than a gigabyte.
func keptFree(m host.Memory) int64 {
	all := m.Total
	if m.Cgroup.Limit > 0 {
		all = min(all, m.Cgroup.Limit)
	}
	return min(all/16, 1<<30)
}

// mostShare is the part of the memory, one in so many, that a store may take while the disk is full before it looks at the
// memory again: others, whose disk is most likely the same, take some at that time.
const mostShare = 4

// recount sets the most that may lie in RAM by what there is now.
func (g *governor) recount() {
	u := g.store.Usage()
	_, most := g.budget(u.RAM + u.Slack)
	g.store.SetMost(most)
}

// budget is what may lie in RAM, of which some does; and the most that may while the disk is full: half of what is
// left to the rest of the machine at other times stays with it. Where nobody can tell what memory there is, nothing is
// taken beyond what was asked for.
func (g *governor) budget(inRAM int64) (budget, most int64) {
	ram := g.ram.Load()
	m, err := g.machine.Memory()
	if err != nil {
		return ram, ram
	}
	room, _ := m.Room()
	kept := keptFree(m)
	return max(min(ram, inRAM+room-kept), 0), inRAM + max(room-kept/2, 0)/mostShare
}

// run looks at the memory until done is closed, and reports.
func (g *governor) run(done <-chan struct{}, reports reporter, r Report) {
	looks := time.NewTicker(reportInterval)
	defer looks.Stop()
	evicted := make(chan struct{}, 1)
	evicting, stop := context.WithCancel(context.Background())
	defer stop()
	var last Report
	var of int64 // the structures that were last told of: the keeper may name them after the last change of what is used
	for busy := false; ; {
		u := g.store.Usage()
		budget, most := g.budget(u.RAM + u.Slack)
		g.store.SetBudget(budget)
		g.store.SetMost(most)
		ready, _ := g.machine.HugePages() // none where that cannot be told
		g.store.SetReady(ready)
		failed := g.store.Tidy()
		if g.store.over() && !busy {
			busy = true
			go func() {
				_ = g.store.Evict(evicting) // Fault tells
				evicted <- struct{}{}
			}()
		}
		r.Usage, r.Pressed, r.Error = g.store.Usage(), budget < g.ram.Load(), g.store.Fault()
		if failed != nil {
			r.Error = failed.Error()
		}
		r.Structures = last.Structures
		if are := g.structures.Load(); r != last || are != of {
			r.Structures, of = g.store.Placed(int(are/ChunkSize)), are
			reports.tell(r)
			last = r
		}
		// What has failed is tried again at the next look: a disk may be full for long.
		for wait := true; wait; {
			select {
			case <-looks.C:
				wait = false
			case <-g.changed:
				wait = false
			case <-evicted: // over again, or in vain: the next look tells
				busy = false
			case <-done:
				stop()
				if busy {
					<-evicted
				}
				return
			}
		}
	}
}
