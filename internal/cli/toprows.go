package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/room"
	"github.com/ramaria-db/ramaria/internal/view"
)

// topRow is a line of the list: an instance, or a text about several.
type topRow struct {
	view.Instance
	// branch stands before the name of one that is in a group.
	branch string
	// text is the whole line of a row that is no instance, "" for an instance.
	text string
}

// topUnit is what stays together: a group, or an instance alone.
type topUnit struct {
	name    string
	group   *view.Group
	members []view.Instance
	rank    float64
}

// still says that nothing of it runs, and nothing is wrong with it.
func (u topUnit) still() bool {
	return !slices.ContainsFunc(u.members, func(i view.Instance) bool { return !still(i) })
}

func still(i view.Instance) bool { return i.Phase == instance.Stopped && i.Trouble == "" }

// stirs says whether a figure has changed so much that its row may move: rows whose rates are nearly
// the same do not change places.
func stirs(was, now float64) bool {
	const least = 10
	low, high := min(was, now), max(was, now)
	return high > 2*low && high-low > least
}

// hold is a figure as it was when it last changed much.
func (s *topScreen) hold(name string, now float64) float64 {
	if s.held == nil || s.heldOf != s.sort {
		s.held, s.heldOf = map[string]float64{}, s.sort
	}
	if was, ok := s.held[name]; ok && !stirs(was, now) {
		return was
	}
	s.held[name] = now
	return now
}

// arranged are the rows in order: what runs first, groups together, and what is stopped in a line.
func (s *topScreen) arranged() (rows []topRow) {
	var stopped []string
	count := 0
	units := s.units()
	for _, u := range units {
		if !u.still() || s.all {
			rows = append(rows, u.rows()...)
			continue
		}
		count += len(u.members)
		if u.group != nil {
			u.name = fmt.Sprintf("%s (%d)", u.name, len(u.members))
		}
		stopped = append(stopped, u.name)
	}
	if count > 0 {
		rows = append(rows, topRow{text: fmt.Sprintf("%d stopped: %s", count, line(strings.Join(stopped, ", ")))})
	}
	return rows
}

// sorted are the instances of the rows, in order.
func (s *topScreen) sorted() (all []view.Instance) {
	for _, r := range s.arranged() {
		if r.text == "" {
			all = append(all, r.Instance)
		}
	}
	return all
}

func (s *topScreen) units() []topUnit {
	at, grouped := map[string]view.Instance{}, map[string]bool{}
	for _, i := range s.seen.Instances {
		at[i.Name] = i
	}
	var units []topUnit
	for _, g := range s.seen.Groups {
		u := topUnit{name: g.Name, group: &g}
		for _, name := range g.Members {
			u.members = append(u.members, at[name])
			grouped[name] = true
		}
		slices.SortStableFunc(u.members, func(a, b view.Instance) int { return cmp.Compare(stillLast(a), stillLast(b)) })
		units = append(units, u)
	}
	for _, i := range s.seen.Instances {
		if !grouped[i.Name] {
			units = append(units, topUnit{name: i.Name, members: []view.Instance{i}})
		}
	}
	for n := range units {
		u := &units[n]
		u.rank = math.Inf(-1)
		for _, i := range u.members {
			u.rank = max(u.rank, topOrders[s.sort].rank(i))
		}
		u.rank = s.hold(u.name, u.rank)
	}
	slices.SortStableFunc(units, func(a, b topUnit) int {
		return cmp.Or(cmp.Compare(b2i(a.still()), b2i(b.still())), cmp.Compare(b.rank, a.rank), cmp.Compare(a.name, b.name))
	})
	return units
}

func stillLast(i view.Instance) int { return b2i(still(i)) }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rows are those of a unit: of a group its head, and its members below.
func (u topUnit) rows() (rows []topRow) {
	if u.group != nil {
		rows = append(rows, topRow{text: groupWords(*u.group)})
	}
	for n, i := range u.members {
		r := topRow{Instance: i}
		if u.group != nil {
			if r.branch = "├ "; n == len(u.members)-1 {
				r.branch = "└ "
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// groupWords say how a group is.
func groupWords(g view.Group) string {
	var words []string
	if g.Kind == view.Cluster {
		words = []string{"cluster " + g.Name, fmt.Sprintf("%d of %d online", g.Online, g.Of), "no quorum: it takes no writes"}
		if g.Quorum {
			words[2] = "quorum"
		}
	} else {
		words = []string{g.Name + " and replicas", fmt.Sprintf("%d of %d work", g.Online, g.Of)}
	}
	if g.LagSeconds != nil {
		words = append(words, behindWords(*g.LagSeconds))
	}
	return line(strings.Join(words, "  "))
}

// behindWords say how far a replica is behind.
func behindWords(lag float64) string {
	switch {
	case lag < 1:
		return "less than 1 s behind"
	case lag < 60:
		return fmt.Sprintf("%.0f s behind", lag)
	}
	return room.Say(seconds(lag)) + " behind"
}

// roleWords are what an instance is in its group.
func roleWords(i view.Instance) string {
	switch {
	case i.Phase != instance.Running:
		return i.Role
	case i.Replica != nil && i.Replica.State != view.Following:
		return "replica, " + i.Replica.State
	case i.Replica != nil && i.Replica.LagSeconds != nil && *i.Replica.LagSeconds >= 1:
		return "replica, " + behindWords(*i.Replica.LagSeconds)
	case i.Cluster != nil && !i.Cluster.Online:
		return strings.ToLower(i.Cluster.State)
	case i.Cluster != nil && i.Role == dbconn.RoleAny:
		return "member"
	}
	return i.Role
}
