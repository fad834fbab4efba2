// Package verify says whether a restored backup is one: it checks every table of a running server, counts and sums
// their rows, and compares with the last time. It changes nothing of what a backup brought. How a backup is restored,
// and how a report is shown, is not its concern.
package verify

import (
	"strings"
	"time"
)

// Format is the version of Report as JSON: see docs/json.md.
const Format = 1

// Status is the verdict on a backup.
type Status string

const (
	// Good is a backup that was restored, and with which nothing is wrong.
	Good Status = "good"
	// Faulty is one that was restored, and with which something is wrong: see Report.Problems.
	Faulty Status = "faulty"
	// Unrestorable is one of which no server runs: see Report.Error.
	Unrestorable Status = "not restorable"
)

// Report is what is known of a backup after it was verified.
type Report struct {
	Format int `json:"format"`
	// Backup is the backup as it was named, and Kind what it was found to be.
	Backup string `json:"backup"`
	Kind   string `json:"kind,omitempty"`
	Status Status `json:"status"`
	// Error is why it could not be restored.
	Error string `json:"error,omitempty"`
	// Server is the software that it was restored with, and MadeBy what the backup says made it.
	Server string `json:"server,omitempty"`
	MadeBy string `json:"made_by,omitempty"`
	// Verified is when the verification began.
	Verified time.Time `json:"verified"`
	// RestoreSeconds is the time from then until a server answered with all data, CheckSeconds that of the checks.
	RestoreSeconds float64 `json:"restore_seconds"`
	CheckSeconds   float64 `json:"check_seconds"`
	// LastChange is when what the backup holds last changed, at the latest, and LastChangeBy what says so.
	LastChange   *time.Time `json:"last_change,omitempty"`
	LastChangeBy string     `json:"last_change_by,omitempty"`
	// Rows is the sum over Tables.
	Rows   int64   `json:"rows"`
	Tables []Table `json:"tables"`
	// Objects are views, routines, triggers, events and sequences.
	Objects []Object `json:"objects"`
	// Problems are why a backup is not good, Changes what is otherwise than the last time and no fault, and Notes what
	// else is worth knowing.
	Problems []Finding `json:"problems"`
	Changes  []Finding `json:"changes"`
	Notes    []Finding `json:"notes"`
	// Against is the report that it was compared with.
	Against *Against `json:"against,omitempty"`
}

// Table is one table as it was restored.
type Table struct {
	Database string `json:"database"`
	Name     string `json:"name"`
	Engine   string `json:"engine"`
	Rows     int64  `json:"rows"`
	// Checksum is CHECKSUM TABLE's; "" with Options.Quick, and where the engine has none.
	Checksum string `json:"checksum,omitempty"`
	// Schema is a hash of the table's definition without its AUTO_INCREMENT; "" if that could not be read.
	Schema string `json:"schema"`
	// Unread says that its rows could not be counted: a problem says why.
	Unread bool `json:"unread,omitempty"`
}

// String is the table as people write it.
func (t Table) String() string { return t.Database + "." + t.Name }

// Object is a part of a database that has no rows of its own.
type Object struct {
	// Kind is view, procedure, function, package, package body, trigger, event or sequence.
	Kind     string `json:"kind"`
	Database string `json:"database"`
	Name     string `json:"name"`
}

// String is the object as people write it.
func (o Object) String() string { return o.Kind + " " + o.Database + "." + o.Name }

// Finding is one thing that was found.
type Finding struct {
	Kind Kind `json:"kind"`
	// Object is what it is about, "" for the whole backup.
	Object string `json:"object,omitempty"`
	Text   string `json:"text"`
}

// String is the finding as a line for people.
func (f Finding) String() string {
	if f.Object == "" {
		return f.Text
	}
	return f.Object + ": " + f.Text
}

// Kind is what a finding is about.
type Kind string

// Problems of a backup in itself.
const (
	Check         Kind = "check"          // CHECK TABLE finds a fault
	Unreadable    Kind = "unreadable"     // the rows or the definition cannot be read
	ServerDied    Kind = "server died"    // the server ended while it read the table
	Unchecked     Kind = "unchecked"      // the server was gone before the table's turn
	BrokenView    Kind = "broken view"    // the view cannot be opened
	MissingParent Kind = "missing parent" // a foreign key refers to a table that is not there
	Orphans       Kind = "orphans"        // rows refer to rows that are not there
	Empty         Kind = "empty"          // there is no table
	TooOld        Kind = "too old"        // the last change is longer ago than it may be
)

// Problems and changes against the last time.
const (
	Vanished Kind = "vanished"
	Emptied  Kind = "emptied"
	Shrunk   Kind = "shrunk"
	Older    Kind = "older"   // the last change is before that of the last time
	Same     Kind = "same"    // the last change is that of the last time
	Schema   Kind = "schema"  // the definition of a table is another
	Content  Kind = "content" // as many rows, and other values
	New      Kind = "new"
)

// Notes.
const (
	MissingDefiner Kind = "missing definer" // an account that objects run as is not in the backup
	NearlyFull     Kind = "nearly full"     // AUTO_INCREMENT nears the end of its column's type
	Warning        Kind = "warning"         // CHECK TABLE warns, and finds no fault
	Skipped        Kind = "skipped"         // rows lie on another server
	Other          Kind = "other"
)

// Against says which report another one was compared with.
type Against struct {
	Backup   string    `json:"backup"`
	Verified time.Time `json:"verified"`
	Rows     int64     `json:"rows"`
	Tables   int       `json:"tables"`
}

// Conclude makes the verdict.
func (r *Report) Conclude() {
	switch {
	case r.Error != "":
		r.Status = Unrestorable
	case len(r.Problems) > 0:
		r.Status = Faulty
	default:
		r.Status = Good
	}
}

// problem and note add findings.
func (r *Report) problem(k Kind, object, text string) {
	r.Problems = append(r.Problems, Finding{k, object, oneLine(text)})
}

func (r *Report) note(k Kind, object, text string) {
	r.Notes = append(r.Notes, Finding{k, object, oneLine(text)})
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
