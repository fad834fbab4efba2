package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/datafiles"
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
	// dir is the data directory that the log is of, and base what its files are called.
	dir, base string
	// path is the file that says what is open, in the same memory as the data.
	path  string
	epoch uint32
	// server is whose log it is.
	server *server.Server
	log    *slog.Logger
	// found is called with the lock held when there is a fence, and returns at once.
	found func()

	// The goroutine that ships touches these alone. stream is at work on file; seen is up to where all was judged.
	judge  *repeatable.Judge
	stream *binlog.Stream
	file   uint32
	seen   archive.Position

	// first is the first fence that is open; nil for none.
	first atomic.Pointer[archive.Position]

	mu    sync.Mutex // guards what follows
	open  []Fence
	total map[string]int64 // how many there were since the start, by kind
}

var _ shipper.Gate = (*fences)(nil)

// keptFences is what the file says.
type keptFences struct {
	Epoch uint32  `json:"epoch"`
	Open  []Fence `json:"open"`
	// Total is how many there were since the supervisor started, by kind.
	Total map[string]int64 `json:"total"`
}

// newFences begins with what an earlier supervisor of the same data has found: all of the log up to end was judged by
// it. Where there is nothing of it, what is in memory of the log behind at, which the newest base backup has, is judged
// again.
func newFences(i *instance.Instance, epoch uint32, at, end archive.Position, log *slog.Logger, found func()) (*fences, error) {
	f := &fences{
		dir: i.DataDir(), base: server.BinlogName, path: i.FencesPath(), epoch: epoch, server: i.Server, log: log, found: found,
		judge: repeatable.New(i.Server.Flavour == server.MySQL), total: map[string]int64{},
	}
	var k keptFences
	err := instance.ReadJSON(f.path, &k)
	switch {
	case err == nil && k.Epoch == epoch:
		f.seen = end
		f.open = behind(k.Open, at)
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
	files, err := binlog.Files(f.dir, f.base)
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
	f.stream = &binlog.Stream{File: serverLog(file), Whole: func(t binlog.EventType) bool { return t == binlog.QueryEvent }}
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
	f.add(Fence{At: at, Kind: "unreadable", Why: fmt.Sprintf("the log cannot be read: %v", err)})
}

// event judges an event.
func (f *fences) event(e *binlog.Event) error {
	at := archive.Position{File: f.file, Offset: e.Offset}
	if at.Before(f.seen) {
		return nil
	}
	v, err := judged(f.judge, e)
	if err != nil {
		return err
	}
	f.look(e, &v)
	if v.Fence != "" && !f.late(e) {
		f.add(Fence{At: at, Kind: v.Kind, Why: v.Fence})
	}
	return nil
}

// judged judges an event. A fault in that is no reason to end a server: what is not understood is a fence.
func judged(j *repeatable.Judge, e *binlog.Event) (v repeatable.Verdict, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = repeatable.Verdict{Kind: "unknown", Fence: fmt.Sprintf("it is not understood: %v", r)}, nil
		}
	}()
	if e.Type != binlog.QueryEvent {
		return j.Event(e.Type, e.Flags), nil
	}
	if binlog.Begins(e) {
		return v, nil
	}
	q, err := binlog.ParseQuery(e)
	if err != nil {
		return repeatable.Verdict{}, err
	}
	return j.Query(&q), nil
}

// late reports whether an event is a statement that no base has while it waits: waiting for one would be in vain.
func (f *fences) late(e *binlog.Event) bool {
	if e.Type != binlog.QueryEvent {
		return false
	}
	q, err := binlog.ParseQuery(e)
	return err == nil && endsLate(f.server, q.SQL)
}

// look finds out by the files of tables what the text of a statement leaves open.
func (f *fences) look(e *binlog.Event, v *repeatable.Verdict) {
	if len(v.UTF8) > 0 && !slices.ContainsFunc(v.UTF8, func(t repeatable.Table) bool { return !repeatable.UTF8MB3(f.definition(t)) }) {
		v.Kind, v.Fence = "", ""
	}
	for _, t := range v.Tables {
		if v.Fence == "" && !f.isInnoDB(t) {
			v.Kind, v.Fence = "engine", fmt.Sprintf("table %s.%s was made without naming its engine, and has another one than InnoDB", t.Schema, t.Name)
		}
	}
	for _, t := range v.Made {
		if v.Fence != "" {
			return
		}
		definition, text := f.definition(t), bytes.ToUpper(e.Body)
		for _, option := range repeatable.Options {
			if bytes.Contains(definition, []byte(option)) && !bytes.Contains(text, []byte(option)) {
				v.Kind, v.Fence = "option", fmt.Sprintf("table %s.%s has the option %s, which a setting of the session gave it", t.Schema, t.Name, option)
			}
		}
	}
}

// isInnoDB reports whether the files of a table are those of InnoDB. The statement that made it waits meanwhile, so
// that they are there; where it does not, and they are not there any more, nobody can tell.
func (f *fences) isInnoDB(t repeatable.Table) bool { return f.fileOf(t, ".ibd", nil) }

// mostDefinition bounds the .frm file of a table, in bytes: servers have a limit of 64 KB for most of what is in it.
const mostDefinition = 1 << 20

// definition is what the .frm file of a table holds, nil where there is none.
func (f *fences) definition(t repeatable.Table) (b []byte) {
	f.fileOf(t, ".frm", func(file *os.File) {
		b, _ = io.ReadAll(io.LimitReader(file, mostDefinition)) // what lacks its end lifts no fence
	})
	return b
}

// fileOf opens the file of a table, or that of one of its partitions, and reports whether there is one.
func (f *fences) fileOf(t repeatable.Table, ext string, read func(*os.File)) bool {
	dir, err := f.schemaDir(t.Schema)
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	open := func(name string) bool {
		file, err := dir.Open(name, os.O_RDONLY)
		if err != nil {
			return false
		}
		defer file.Close()
		if read != nil {
			read(file)
		}
		return true
	}
	if plain(t.Name) && open(t.Name+ext) {
		return true
	}
	names, err := dir.Names()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		stem, ok := strings.CutSuffix(name, ext)
		if !ok {
			return false
		}
		stem, _, _ = strings.Cut(stem, "#") // a partition
		return strings.EqualFold(datafiles.Decode(stem), t.Name) && open(name)
	})
}

// schemaDir opens the directory of a database.
func (f *fences) schemaDir(schema string) (_ *sys.Dir, err error) {
	data, err := sys.OpenDir(f.dir)
	if err != nil {
		return nil, err
	}
	defer data.CloseWith(&err)
	if plain(schema) {
		return data.Dir(schema)
	}
	names, err := data.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.EqualFold(datafiles.Decode(name), schema) {
			return data.Dir(name)
		}
	}
	return nil, fs.ErrNotExist
}

// plain reports whether a file is named as the identifier is.
func plain(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
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
	if err := f.saved(); err != nil { // a full volume; without the file the next supervisor judges the log again
		f.log.Error("cannot write down which statements wait for a base backup", "error", errors.Join(err, os.Remove(f.path)))
	}
	f.found()
}

// saved writes down what is open; mu is held.
func (f *fences) saved() error {
	f.first.Store(nil)
	if len(f.open) > 0 {
		f.first.Store(&f.open[0].At)
	}
	return instance.WriteJSON(f.path, keptFences{Epoch: f.epoch, Open: f.open, Total: f.total})
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

// Fences are the statements that wait for a base backup now, and how many there were since the start, by kind.
func (k *Keeper) Fences() (open []Fence, total map[string]int64) {
	f := k.gate()
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.open), maps.Clone(f.total)
}

// Known tells of the primary key of a table. It is called before Serve.
func (k *Keeper) Known(schema, table string, columns []string) {
	k.fences.judge.Known(schema, table, columns)
}

// FindHistoric finds the tables of MariaDB whose partitions are by SYSTEM_TIME, by their files: a query that opens one may
// have the server add a partition, and wait for an acknowledgement. It is called before Serve.
func (k *Keeper) FindHistoric() (err error) {
	data, err := sys.OpenDir(k.Instance.DataDir())
	if err != nil {
		return err
	}
	defer data.CloseWith(&err)
	names, err := data.Names()
	if err != nil {
		return err
	}
	for _, schema := range names {
		dir, err := data.Dir(schema)
		if err != nil { // a file
			continue
		}
		files, err := dir.Names()
		if err := errors.Join(err, dir.Close()); err != nil {
			return err
		}
		for _, file := range files {
			stem, partitioned := strings.CutSuffix(file, ".par")
			if !partitioned {
				continue
			}
			t := repeatable.Table{Schema: datafiles.Decode(schema), Name: datafiles.Decode(stem)}
			if d := k.fences.definition(t); d == nil || bytes.Contains(bytes.ToUpper(d), []byte("SYSTEM_TIME")) {
				k.fences.judge.Historic(t.Schema, t.Name)
			}
		}
	}
	return nil
}

// FencesOf is what an instance's file says of its fences, nil for none.
func FencesOf(r *instance.Record) (*client.Fences, error) {
	var kept keptFences
	err := instance.ReadJSON(r.FencesPath(), &kept)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(kept.Open) == 0 && len(kept.Total) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := &client.Fences{Waiting: make([]client.Fence, 0, len(kept.Open)), Kinds: []client.FenceCount{}}
	for _, kind := range slices.Sorted(maps.Keys(kept.Total)) {
		out.Kinds = append(out.Kinds, client.FenceCount{Kind: kind, Count: kept.Total[kind]})
	}
	for _, f := range kept.Open {
		out.Waiting = append(out.Waiting, client.Fence{Position: FormatPosition(kept.Epoch, f.At), Kind: f.Kind, Why: f.Why, Since: f.Seen})
	}
	return out, nil
}

// setFenced has the manifest say whether commits wait for fences.
func (k *Keeper) setFenced(fenced bool) error {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	fenced = fenced && os.Getenv(EnvFence) != "off"
	if last := k.Archive.Manifest.Last(); last == nil || last.Fenced == fenced {
		return nil
	}
	return k.Archive.save(func(m *archive.Manifest) { m.Last().Fenced = fenced })
}

// Fenced reports whether a statement waits for a base backup.
func (k *Keeper) Fenced() bool { return k.gate().first.Load() != nil }

// gate is what holds commits back in the epoch that goes on.
func (k *Keeper) gate() *fences {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fences
}
