package durable

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/datafiles"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/sys"
)

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

// findHistoric tells the judge of the tables of MariaDB whose partitions are by SYSTEM_TIME, by their files: a query that
// opens one may have the server add a partition, and wait for an acknowledgement. What a kill left of the log is judged
// before the server runs.
func (f *fences) findHistoric() (err error) {
	data, err := sys.OpenDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) { // before its first start
		return nil
	}
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
			if d := f.files.Definition(t); d == nil || bytes.Contains(bytes.ToUpper(d), []byte("SYSTEM_TIME")) {
				f.judge.Historic(t.Schema, t.Name)
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
