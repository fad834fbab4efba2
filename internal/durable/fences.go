package durable

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/shipper"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// EnvFence is the variable that is "off" where statements that the log may not repeat are acknowledged like all
// others. It is for tests that show what is lost then.
const EnvFence = "RAMARIA_FENCE"

// Fence is a statement of the log that need not give the same when it is repeated. It, and all that comes after it,
// rests on a base backup that has it.
type Fence struct {
	// At is where its event begins.
	At archive.Position `json:"at"`
	// Kind is what it is counted as, and Why what a user is told of it.
	Kind string `json:"kind"`
	Why  string `json:"why"`
	// Seen is when it was found in the log.
	Seen time.Time `json:"seen"`
}

// fences finds the fences of a log that is archived, and holds commits back until a base backup has them.
//
// The invariant: no position behind a fence is acknowledged before a base backup that has the fence lasts.
type fences struct {
	// dir is the data directory that the log is of, and files its tables'.
	dir   string
	files repeatable.Files
	// path is the file that says what is open, in the same memory as the data.
	path  string
	epoch uint32
	// trusted says that the log up to where it began was not read again.
	trusted bool
	// server is whose log it is.
	server *server.Server
	log    *slog.Logger
	// powers are what to look for in the log, routines what calls what there, and alarm has something in it when there is more of blind.
	powers   atomic.Pointer[repeatable.Powers]
	routines repeatable.Routines
	alarm    chan struct{}
	// found is called with the lock held when there is a fence, or more of blind, and returns at once.
	found func()

	// The goroutine that ships touches these alone. stream is at work on file; seen is up to where all was judged.
	judge  *repeatable.Judge
	stream *binlog.Stream
	file   uint32
	seen   archive.Position
	// meter counts what of the log it takes time to replay.
	meter meter

	// first is the first fence that is open; nil for none.
	first atomic.Pointer[archive.Position]

	mu    sync.Mutex // guards what follows
	open  []Fence
	total map[string]int64 // how many there were since the start, by kind
	blind Blind
}

var _ shipper.Gate = (*fences)(nil)

// keptFences is what the file says.
type keptFences struct {
	Epoch uint32  `json:"epoch"`
	Open  []Fence `json:"open"`
	// Total is how many there were since the supervisor started, by kind.
	Total map[string]int64 `json:"total"`
	// Blind is since when the log may lack commits, nil if it does not.
	Blind *Blind `json:"blind,omitempty"`
}

// newFences begins with what an earlier supervisor of the same data has found: all of the log up to end was judged by
// it. Where there is nothing of it, what is in memory of the log behind at, which the newest base backup has, is judged
// again, too: for statements by which somebody may have got one of powers.
func newFences(i *instance.Instance, epoch uint32, at, end archive.Position, powers *repeatable.Powers, log *slog.Logger, found func()) (*fences, error) {
	f := &fences{
		dir: i.DataDir(), files: repeatable.Files{Dir: i.DataDir(), Folds: server.FoldsNames(i.Spec.Set)}, path: i.FencesPath(), epoch: epoch, server: i.Server, log: log, found: found,
		meter: meter{costs: i.Server.Family().ReplayCosts()}, judge: repeatable.New(i.Server.Flavour == server.MySQL), total: map[string]int64{}, alarm: make(chan struct{}, 1),
	}
	f.powers.Store(powers)
	if err := f.findHistoric(); err != nil {
		return nil, err
	}
	var k keptFences
	err := instance.ReadJSON(f.path, &k)
	switch {
	case err == nil && k.Epoch == epoch:
		f.seen, f.trusted = end, true
		f.open = behind(k.Open, at)
		if k.Blind != nil {
			f.blind = *k.Blind
		}
	default: // there is none, or it is of another log, or damaged
		f.seen = at
		if err := f.judgeFiles(end); err != nil {
			return nil, err
		}
	}
	if err := f.changed(); err != nil {
		return nil, err
	}
	return f, nil
}

// judgeFiles judges what there is of the log up to a position.
func (f *fences) judgeFiles(end archive.Position) error {
	files, err := binlog.Files(f.dir, server.BinlogName)
	if err != nil {
		return err
	}
	for _, name := range files {
		n, err := fileNumber(name)
		if err != nil || n < f.seen.File || n > end.File {
			continue
		}
		size := end.Offset
		if n < end.File {
			fi, err := os.Lstat(filepath.Join(f.dir, name))
			if err != nil {
				return err
			}
			size = fi.Size()
		}
		f.begin(n)
		f.readTo(size)
	}
	return nil
}

// Pass implements shipper.Gate.
func (f *fences) Pass(at archive.Position, b []byte) {
	at.File = max(1, at.File)
	if f.stream == nil || f.file != at.File || f.stream.Next() != at.Offset {
		f.begin(at.File)
		f.readTo(at.Offset)
	}
	f.write(b)
}

// begin begins a file of the log.
func (f *fences) begin(file uint32) {
	f.file = file
	f.stream = newStream(serverLog(file))
}

// readSize is how much of a file is read at a time, in bytes.
const readSize = 256 << 10

// readTo reads on in the file, up to an offset: what was judged before says where events begin.
func (f *fences) readTo(to int64) {
	if f.stream.Next() == to {
		return
	}
	file, err := sys.OpenIn(f.dir, serverLog(f.file))
	if err != nil {
		f.unreadable(err)
		return
	}
	defer file.Close()
	b := make([]byte, readSize)
	for f.stream != nil && f.stream.Next() < to {
		n, err := file.ReadAt(b[:min(readSize, to-f.stream.Next())], f.stream.Next())
		if n == 0 {
			if errors.Is(err, io.EOF) {
				return // cut off by a power failure: what comes next begins at another place
			}
			f.unreadable(err)
			return
		}
		f.write(b[:n])
	}
}

// write judges the events that begin in the bytes that follow.
func (f *fences) write(b []byte) {
	if f.stream == nil {
		return
	}
	if err := f.stream.Write(b, f.event); err != nil {
		f.unreadable(err)
		return
	}
	if now := (archive.Position{File: f.file, Offset: f.stream.At()}); f.seen.Before(now) {
		f.seen = now
	}
}

// unreadable makes a fence of what cannot be read, up to where something can again.
func (f *fences) unreadable(err error) {
	at := archive.Position{File: f.file}
	if f.stream != nil {
		at.Offset = f.stream.At()
	}
	f.stream = nil
	f.add(Fence{At: at, Kind: repeatable.Unreadable, Why: fmt.Sprintf("the log cannot be read: %v", err)})
}

// event judges an event.
func (f *fences) event(e *binlog.Event) error {
	at := archive.Position{File: f.file, Offset: e.Offset}
	// By its end: the supervisor before may have ended with the beginning of it archived, and judged no more than that.
	if !f.seen.Before(archive.Position{File: f.file, Offset: e.Offset + e.Length}) {
		return nil
	}
	f.meter.take(e)
	if why := f.empowers(e); why != "" {
		f.blinded(why)
	}
	v, err := f.judge.Of(e)
	if err != nil {
		return err
	}
	if m := f.meter.mapped; e.Type == binlog.TableMapEvent && m != nil && (repeatable.Table{Schema: m.Schema, Name: m.Table}).Notes(f.server.Flavour == server.MySQL) {
		v.Kind, v.Fence = "unknown", "rows of mysql."+m.Table+" were changed, in which the applier of a recovery has its own"
	}
	f.files.Settle(&v, e)
	if v.Fence != "" && !late(f.server, e) {
		f.add(Fence{At: at, Kind: v.Kind, Why: v.Fence})
	}
	return nil
}

// add holds commits back from a fence on. The file says so before the log is archived.
func (f *fences) add(fence Fence) {
	if os.Getenv(EnvFence) == "off" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fence.Seen = time.Now()
	f.open = append(f.open, fence)
	f.total[fence.Kind]++
	f.log.Info("a statement waits for a base backup", "kind", fence.Kind, "why", fence.Why, "at", fence.At)
	f.note()
}

// note writes down what was found, and says so to who makes bases; mu is held. On a full volume the file goes: without it the
// next supervisor judges the log again.
func (f *fences) note() {
	if err := f.saved(); err != nil {
		f.log.Error("cannot write down what was found in the log", "error", errors.Join(err, os.Remove(f.path)))
	}
	f.found()
}

// saved writes down what is open; mu is held.
func (f *fences) saved() error {
	var first *archive.Position
	if len(f.open) > 0 {
		first = &f.open[0].At
	}
	f.first.Store(first) // once: Limit is asked meanwhile
	kept := keptFences{Epoch: f.epoch, Open: f.open, Total: f.total}
	if !f.blind.Since.IsZero() {
		kept.Blind = &f.blind
	}
	return instance.WriteJSON(f.path, kept)
}

func (f *fences) changed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.saved()
}

// Limit implements shipper.Gate.
func (f *fences) Limit() (archive.Position, bool) {
	if at := f.first.Load(); at != nil {
		return *at, true
	}
	return archive.Position{}, false
}

// before is how many fences are open before a position between two groups.
func (f *fences) before(at archive.Position) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open) - len(behind(f.open, at))
}

// behind are the fences behind a position.
func behind(list []Fence, at archive.Position) []Fence {
	return slices.DeleteFunc(slices.Clone(list), func(o Fence) bool { return o.At.Before(at) })
}

// covered lets go of the fences that a base backup has, which is at a position between two groups.
func (f *fences) covered(at archive.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := behind(f.open, at)
	if len(left) == len(f.open) {
		return
	}
	f.open = left
	if err := f.saved(); err != nil { // a start drops what the newest base has
		f.log.Error("cannot write down which statements wait for a base backup", "error", err)
	}
}
