package fit

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// notes are what was left out and changed, by subject, in the order in which it came. Sessions at work add to them at once.
type notes struct {
	lock sync.Mutex
	list []note
}

type note struct {
	subject string
	items   []string
	counts  []int
}

// add counts an item.
func (n *notes) add(subject, item string) {
	n.lock.Lock()
	defer n.lock.Unlock()
	i := slices.IndexFunc(n.list, func(is note) bool { return is.subject == subject })
	if i < 0 {
		i = len(n.list)
		n.list = append(n.list, note{subject: subject})
	}
	is := &n.list[i]
	j := slices.Index(is.items, item)
	if j < 0 {
		j = len(is.items)
		is.items, is.counts = append(is.items, item), append(is.counts, 0)
	}
	is.counts[j]++
}

// Subjects of notes, and how they are told of a dump.
const (
	ofSettings   = "sets %s; that stays as it is here"
	ofRestores   = "puts %s back to what it has not kept; that stays as it is here"
	ofModes      = "sets sql_mode %s, which this server does not know; it is left out"
	ofCollations = "has collations that this server does not know: %s"
	ofDefiners   = "names other definers; what it brings is yours now: %s"
	ofAccounts   = "has accounts and rights, which were left out: %s"
	ofServer     = "has statements about replication and the binary log, which were left out: %s"
	ofVisible    = "has columns that are invisible to other servers and visible to this one: %s"
	ofZones      = "sets time zones by name, which the server knows now: %s"
	ofRepairs    = "has tables that were changed for this server: %s"
	ofLeniency   = "has what this server takes only if told to: %s"
	ofGenerated  = "has values for generated columns, which the server computes: %s"
)

// Generated counts a value for a generated column, given as TABLE.COLUMN, that was left out.
func (f *Fit) Generated(column string) { f.notes.add(ofGenerated, column) }

// Unread notes that the text of a table will not read as it was written: of says of the dump how that is.
func (f *Fit) Unread(of, table string) { f.notes.add(of+" (%s)", table) }

// Learned notes a time zone that the server was told of.
func (f *Fit) Learned(zone string) { f.notes.add(ofZones, zone) }

// shown is how many items of a note are told.
const shown = 12

// Notes returns a line for each subject; file is what the dump is called.
func (f *Fit) Notes(file string) []string {
	f.notes.lock.Lock()
	defer f.notes.lock.Unlock()
	var lines []string
	for _, n := range f.notes.list {
		items := make([]string, 0, len(n.items))
		for i, item := range n.items {
			if n.subject != ofSettings && n.subject != ofRestores && n.subject != ofModes && n.counts[i] > 1 {
				item = fmt.Sprintf("%s (%d)", item, n.counts[i])
			}
			items = append(items, item)
		}
		if more := len(items) - shown; more > 0 {
			items = append(items[:shown], fmt.Sprintf("%d more", more))
		}
		lines = append(lines, file+" "+fmt.Sprintf(n.subject, strings.Join(items, ", ")))
	}
	return lines
}
