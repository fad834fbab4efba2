package wheatfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// fuseFD is the daemon's descriptor of /dev/fuse. Its keeper has closed its own: when the daemon dies,
	// requests fail, and nothing hangs.
	fuseFD = "/dev/fd/3"
	// reportInterval is how often the daemon tells its keeper where the data lies, if that has changed.
	reportInterval = 100 * time.Millisecond
	// heapGrowth is the GOGC of the daemon, whose heap is a few request buffers: they are to stay.
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
	// Error is the last that the disk had, "" if none.
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
	disk, err := sys.UnnamedDirect(p.Disk)
	if err != nil {
		return err
	}
	store, err := NewStore(p.Size, p.RAM, disk)
	if err != nil {
		return errors.Join(err, disk.Close())
	}
	r := Report{Locked: store.Lock() == nil && sys.LockMemory() == nil, Flusher: sys.IsFlusher()}
	server, err := fuse.NewServer(&device{RawFileSystem: fuse.NewDefaultRawFileSystem(), store: store}, fuseFD, fuseOptions())
	if err != nil {
		return errors.Join(fmt.Errorf("serve device: %w", err), store.Close())
	}
	g := governor{store: store, memory: host.Host{}.Memory, changed: make(chan struct{}, 1)}
	g.ram.Store(p.RAM)
	done := make(chan struct{})
	governed := make(chan struct{})
	go func() {
		defer close(governed)
		g.run(done, json.NewEncoder(out), r)
	}()
	go g.obey(orders)
	server.Serve()
	close(done)
	<-governed
	return store.Close()
}

// governor keeps the budget of a store within what the machine has.
type governor struct {
	store  *Store
	ram    atomic.Int64
	memory func() (host.Memory, error)
	// changed has something when ram has changed.
	changed chan struct{}
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
		if o.RAM != nil {
			g.ram.Store(*o.RAM)
			select {
			case g.changed <- struct{}{}:
			default:
			}
		}
	}
	if at.Place != "" {
		_ = takeAway(at.Place, at.Device)
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

// budget is what may lie in RAM, of which some does.
func (g *governor) budget(inRAM int64) int64 {
	ram := g.ram.Load()
	m, err := g.memory()
	if err != nil {
		return ram // there is no telling
	}
	room, _ := m.Room()
	return max(min(ram, inRAM+room-keptFree(m)), 0)
}

// run looks at the memory until done is closed, and reports.
func (g *governor) run(done <-chan struct{}, out *json.Encoder, r Report) {
	looks := time.NewTicker(reportInterval)
	defer looks.Stop()
	evicted := make(chan error, 1)
	var last Report
	for evicting := false; ; {
		u := g.store.Usage()
		budget := g.budget(u.RAM)
		g.store.SetBudget(budget)
		if over := u.RAM - budget; over > 0 && !evicting {
			evicting = true
			go func() {
				_, err := g.store.Evict(over)
				evicted <- err
			}()
		}
		r.Usage, r.Pressed = g.store.Usage(), budget < g.ram.Load()
		if r != last {
			if err := out.Encode(r); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				out = json.NewEncoder(io.Discard) // the keeper was killed
			}
			last = r
		}
		select {
		case <-looks.C:
		case <-g.changed:
		case err := <-evicted:
			evicting = false
			if err != nil {
				r.Error = strings.TrimSpace(err.Error())
			}
		case <-done:
			if evicting {
				<-evicted //nolint:errcheck // there is none left to tell
			}
			return
		}
	}
}
