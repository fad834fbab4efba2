package reset

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// Changes are what happened to one database since it last equalled its template.
type Changes struct {
	// Tables are the tables whose rows changed, by name.
	Tables map[string]*TableChanges
	// Statements says that there were statements that may have changed more than rows.
	Statements bool
	// Touched has every name that those statements mention, in lower case, tables and
	// others.
	Touched map[string]bool
	// Warnings are about changes outside the database.
	Warnings []string
	// Incomplete says why the other fields may not be complete, "" if they are.
	Incomplete string
	// Prepared are the XA transactions that changed the database and are neither committed nor
	// rolled back.
	Prepared []binlog.XID
	// Events counts the row events that were read, including those of open transactions.
	Events int
	// Proven says what has certainly changed, by the log; "" if nothing has, or nothing is certain.
	Proven string

	// found says what a comparison found to be different. Later statements may put it right.
	found string
	// version grows with each change and each loss of certainty.
	version int
	// since is how many changes Journal.parts had counted when nothing of them concerned the database.
	since int
}

// TableChanges are the changes of one table's rows.
type TableChanges struct {
	// Rows are the changes, in the order of the log.
	Rows []binlog.Change
	// Bytes is the size of the row images of Rows, in bytes.
	Bytes int
	// NeedsRefill says that Rows may not be all that changed in the table.
	NeedsRefill bool
}

// maxTable is how many bytes of row images are kept of one table at most, and of one transaction: a reset fills what has
// more from the template instead.
const maxTable = 64 << 20

func (c *Changes) table(name string) *TableChanges {
	t := c.Tables[name]
	if t == nil {
		t = &TableChanges{}
		if c.Tables == nil {
			c.Tables = map[string]*TableChanges{}
		}
		c.Tables[name] = t
	}
	return t
}

// add takes in a change of rows.
func (c *Changes) add(change binlog.Change) {
	t := c.table(change.Map.Table)
	c.proven("rows of " + change.Map.Table + " were changed")
	if t.Bytes += change.Rows.Size(); t.Bytes > maxTable {
		t.NeedsRefill = true
	}
	if t.NeedsRefill {
		t.Rows = nil
		return
	}
	t.Rows = append(t.Rows, change)
}

// refill makes what is known of a table's rows worthless.
func (c *Changes) refill(table string) {
	t := c.table(table)
	t.NeedsRefill, t.Rows = true, nil
	c.moved()
}

// moved notes that what a comparison finds from now on may be something else.
func (c *Changes) moved() {
	c.version++
	c.found = ""
}

// certain says what has changed for certain; "" if nothing has, or nothing is certain.
func (c *Changes) certain() string { return cmp.Or(c.Proven, c.found) }

// proven notes what has changed for certain.
func (c *Changes) proven(what string) {
	c.moved()
	if c.Proven == "" {
		c.Proven = what
	}
}

// changed says what has changed, or may have; "" for nothing.
func (c *Changes) changed() string {
	if why := cmp.Or(c.certain(), c.beyondRows()); why != "" || len(c.Tables) == 0 {
		return why
	}
	return "rows of it may have been changed"
}

// beyondRows says what else has changed but rows, or may have; "" for nothing.
func (c *Changes) beyondRows() string {
	switch {
	case c.Incomplete != "":
		return c.Incomplete
	case c.Statements:
		return "its shape was changed, or may have been"
	}
	return ""
}

// follow adds what happened later.
func (c *Changes) follow(later *Changes) {
	for name, t := range later.Tables {
		if t.NeedsRefill {
			c.refill(name)
		}
		for _, change := range t.Rows {
			c.add(change)
		}
	}
	if later.Statements {
		c.touch(later.Touched)
	}
	for _, text := range later.Warnings {
		c.warn(text)
	}
	c.Events += later.Events
	if later.Proven != "" {
		c.proven(later.Proven)
	}
	if why := cmp.Or(c.Incomplete, later.Incomplete); why != "" {
		c.incomplete(why)
	}
}

// incomplete notes the first reason why all that is known is worthless.
func (c *Changes) incomplete(why string) {
	if c.Incomplete == "" {
		c.Incomplete = why
	}
	c.Tables = nil
	c.moved()
}

// Warned are no changes, but a warning to whoever puts the database back.
func Warned(text string) *Changes { return &Changes{Warnings: []string{text}} }

// warn notes a statement about more than the database.
func (c *Changes) warn(text string) {
	const most = 20
	if len(c.Warnings) < most && !slices.Contains(c.Warnings, text) {
		c.Warnings = append(c.Warnings, text)
	}
}

// touch notes a statement that may have changed the shape of the database, by the names
// in it.
func (c *Changes) touch(names map[string]bool) {
	c.Statements = true
	c.moved()
	if c.Touched == nil {
		c.Touched = map[string]bool{}
	}
	maps.Copy(c.Touched, names)
}

// mentions reports whether a statement touched what has this name.
func (c *Changes) mentions(name string) bool { return c.Touched[strings.ToLower(name)] }
