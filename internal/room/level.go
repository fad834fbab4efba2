// Package room says how full something with a limit is, and how fast it fills. It measures
// nothing and knows no clock: numbers and times are told to it.
//
// The invariant: a level is said once per crossing. It rises at once, and falls only when there is
// clearly more room than where it began.
package room

import "slices"

// Level is how full something is.
type Level int

// The levels, by the share of the room that is used.
const (
	Ample   Level = iota
	Notice        // 80 %: time to look what grows
	Warning       // 90 %: time to make room
	Last          // 95 %: servers are about to become read-only
	Full          // nothing can be written any more
)

// Names of the levels, in JSON.
var names = [...]string{"ample", "notice", "warning", "last", "full"}

func (l Level) String() string { return names[l] }

// Parse returns the level of a name; Ample for one that is none.
func Parse(name string) Level { return Level(max(0, slices.Index(names[:], name))) }

const (
	noticeShare, warningShare, lastShare = 0.80, 0.90, 0.95
	// slack is by how much of the room the share must fall below where a level began for it to end.
	slack = 0.03
)

// Room is what there is, in bytes.
type Room struct {
	// Used is what is used, and Free what can still be written.
	Used, Free int64
	// Kept is the part of Free that is kept back: when no more is free, servers become read-only.
	// 0 keeps back nothing.
	Kept int64
	// Least is the free room, in bytes, below which it counts as full.
	Least int64
}

// Left is what can be written before servers become read-only, or before it is full.
func (r Room) Left() int64 { return max(0, r.Free-r.Kept) }

// Share is the used part of what can be used, from 0 to 1. What is kept back does not count, as df
// leaves out the blocks that only root may use.
func (r Room) Share() float64 {
	left := r.Left()
	return 1 - float64(left)/float64(max(1, r.Used+left))
}

// Level returns the level, without regard to what it was before.
func (r Room) Level() Level { return r.level(0, 1) }

// level is Level of a room that is used by so much more, and full at so many times Least.
func (r Room) level(more, times float64) Level {
	share := r.Share() + more
	switch {
	case float64(r.Free) < times*float64(r.Least):
		return Full
	case share >= lastShare:
		return Last
	case share >= warningShare:
		return Warning
	case share >= noticeShare:
		return Notice
	}
	return Ample
}

// Gauge is a level that does not waver.
type Gauge struct{ level Level }

// Set tells the gauge what there is now, and returns its level.
func (g *Gauge) Set(r Room) Level {
	now := r.Level()
	if now < g.level {
		const fullSlack = 1.5
		now = min(g.level, r.level(slack, fullSlack))
	}
	g.level = now
	return now
}

// Level is the level that was set last.
func (g *Gauge) Level() Level { return g.level }
