package datafiles

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Use is what an item takes in its file system, and by how much it has grown, in bytes.
type Use struct {
	Item
	Bytes, Grown int64
}

// Report is what a Census has found.
type Report struct {
	// Since is from when on growth is counted: when the first census was taken, or half an hour to
	// an hour ago.
	Since time.Time
	// Grown are those that have grown most, Largest those that take most; the first is the greatest.
	Grown, Largest []Use
	// Databases are the databases whose tables have grown most.
	Databases []Use
	// Items and Files are how many there are, and Bytes is what all take.
	Items, Files int
	Bytes        int64
}

const (
	// top is how many items a report names at most.
	top = 5
	// period is how old the younger of two points is at most that growth is counted from.
	period = 30 * time.Minute
	// leastGrown is what is no growth to speak of, in bytes.
	leastGrown = 1 << 20
)

// Census finds out again and again what takes room in a data directory. It keeps sixteen bytes per
// item, twice.
type Census struct {
	// Binlog is what the server calls its binary log.
	Binlog string

	seed maphash.Seed
	// older and newer are what there was at two points in time.
	older, newer point
}

// point is what there was at a time, by hash.
type point struct {
	at    time.Time
	sizes []size
}

type size struct {
	hash  uint64
	bytes int64
}

// found is an item, or first one of its files.
type found struct {
	size
	kind      Kind
	sub, stem string
}

// Take takes a census of a data directory now.
func (c *Census) Take(dir string, now time.Time) (Report, error) {
	if c.older.at.IsZero() {
		c.seed = maphash.MakeSeed()
	}
	var all []found
	r := Report{}
	err := sys.Files(dir, func(sub, name string, bytes int64) {
		kind, stem := key(sub, name, c.Binlog)
		if kind != Table && kind != Alter && kind != FullText {
			sub = ""
		}
		all = append(all, found{size{c.hash(kind, sub, stem), bytes}, kind, sub, stem})
		r.Files++
		r.Bytes += bytes
	})
	if err != nil {
		return Report{}, err
	}
	all = merge(all)
	r.Items = len(all)
	c.keep(all, now)
	r.Since = c.older.at
	c.rank(all, &r)
	return r, nil
}

// hash tells items apart.
func (c *Census) hash(kind Kind, sub, stem string) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	_, _ = h.WriteString(string(kind)) // never fails
	_ = h.WriteByte(0)
	_, _ = h.WriteString(sub)
	_ = h.WriteByte(0)
	_, _ = h.WriteString(stem)
	return h.Sum64()
}

// merge adds up the files of each item.
func merge(all []found) []found {
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.hash, b.hash) })
	items := all[:0]
	for _, f := range all {
		if n := len(items); n > 0 && items[n-1].hash == f.hash {
			items[n-1].bytes += f.bytes
		} else {
			items = append(items, f)
		}
	}
	return items
}

// keep makes a point of what there is now when the younger one is old enough.
func (c *Census) keep(all []found, now time.Time) {
	if !c.newer.at.IsZero() && now.Sub(c.newer.at) < period {
		return
	}
	p := point{at: now, sizes: make([]size, len(all))}
	for i, f := range all {
		p.sizes[i] = f.size
	}
	if c.older = c.newer; c.older.at.IsZero() {
		c.older = p
	}
	c.newer = p
}

// rank chooses what a report names.
func (c *Census) rank(all []found, r *Report) {
	byGrowth := func(u Use) int64 { return u.Grown }
	bySize := func(u Use) int64 { return u.Bytes }
	databases := map[string]Use{}
	before := c.older.sizes
	for _, f := range all {
		for len(before) > 0 && before[0].hash < f.hash { // it is gone
			before = before[1:]
		}
		u := Use{Bytes: f.bytes, Grown: f.bytes}
		if len(before) > 0 && before[0].hash == f.hash {
			u.Grown -= before[0].bytes
		}
		if u.Grown >= leastGrown {
			r.Grown = put(r.Grown, u, f, byGrowth)
		}
		r.Largest = put(r.Largest, u, f, bySize)
		if f.sub != "" {
			d := databases[f.sub]
			databases[f.sub] = Use{Bytes: d.Bytes + u.Bytes, Grown: d.Grown + u.Grown}
		}
	}
	for sub, u := range databases {
		if u.Grown >= leastGrown {
			r.Databases = put(r.Databases, u, found{kind: Database, sub: sub}, byGrowth)
		}
	}
}

// put puts the use of an item in its place in a list of the top ones, if it is one of them.
func put(list []Use, u Use, f found, by func(Use) int64) []Use {
	if len(list) == top && by(u) <= by(list[top-1]) {
		return list
	}
	u.Item = item(f.kind, f.sub, f.stem)
	at, _ := slices.BinarySearchFunc(list, u, func(a, b Use) int { return cmp.Compare(by(b), by(a)) })
	list = slices.Insert(list, at, u)
	return list[:min(top, len(list))]
}
