package verify

import (
	"fmt"
	"strconv"
	"time"
)

// Bounds are what may be otherwise than the last time.
type Bounds struct {
	// Shrink is the part of its rows that a table may have lost, 0 to 1.
	Shrink float64
	// MaxAge is how long ago the last change may be; 0 is no bound.
	MaxAge time.Duration
}

// fewRows is how many rows a table may lose whatever part of it they are: small tables come and go.
const fewRows = 100

// Judge holds a report against bounds of its own.
func (r *Report) Judge(b Bounds, now time.Time) {
	if b.MaxAge <= 0 {
		return
	}
	if r.LastChange == nil {
		r.problem(TooOld, "", "nothing in it says how old it is")
	} else if age := now.Sub(*r.LastChange); age > b.MaxAge {
		r.problem(TooOld, "", fmt.Sprintf("its last change is %s ago (%s), and may be %s ago at the most", long(age), r.LastChangeBy, long(b.MaxAge)))
	}
}

// Compare holds a report against that of the last time. More rows, tables and objects are no fault.
func (r *Report) Compare(last *Report, b Bounds) {
	r.Against = &Against{Backup: last.Backup, Verified: last.Verified, Rows: last.Rows, Tables: len(last.Tables)}
	now := map[string]Table{}
	for _, t := range r.Tables {
		now[t.String()] = t
	}
	sameServer := r.Server == last.Server
	was := map[string]bool{}
	for _, old := range last.Tables {
		was[old.String()] = true
		t, there := now[old.String()]
		if !there {
			r.problem(Vanished, old.String(), fmt.Sprintf("the table is not there; the last time it had %s", count(old.Rows)))
		} else if !t.Unread { // else a problem has said so
			r.compareTable(old, t, b, sameServer)
		}
	}
	for _, t := range r.Tables {
		if !was[t.String()] {
			r.change(New, t.String(), "a new table, with "+count(t.Rows))
		}
	}
	r.compareObjects(last)
	r.compareAge(last)
}

func (r *Report) compareTable(old, t Table, b Bounds, sameServer bool) {
	lost := old.Rows - t.Rows
	switch {
	case t.Rows == 0 && old.Rows > 0:
		r.problem(Emptied, t.String(), fmt.Sprintf("it is empty; the last time it had %s", count(old.Rows)))
	case lost > fewRows && float64(lost) > b.Shrink*float64(old.Rows):
		r.problem(Shrunk, t.String(), fmt.Sprintf("it has %s, and had %d the last time: %.0f %% less", count(t.Rows), old.Rows, 100*float64(lost)/float64(old.Rows)))
	}
	// Another version writes definitions otherwise.
	if sameServer && old.Schema != "" && t.Schema != old.Schema {
		r.change(Schema, t.String(), "its definition is another")
	}
	if sameServer && lost == 0 && t.Schema == old.Schema && old.Checksum != "" && t.Checksum != "" && old.Checksum != t.Checksum {
		r.change(Content, t.String(), "as many rows, and other values")
	}
}

func (r *Report) compareObjects(last *Report) {
	now := map[Object]bool{}
	for _, o := range r.Objects {
		now[o] = true
	}
	was := map[Object]bool{}
	for _, o := range last.Objects {
		if was[o] = true; !now[o] {
			r.problem(Vanished, o.String(), "it is not there, and was the last time")
		}
	}
	for _, o := range r.Objects {
		if !was[o] {
			r.change(New, o.String(), "it was not there the last time")
		}
	}
}

// compareAge says whether the backup has advanced.
func (r *Report) compareAge(last *Report) {
	if r.LastChange == nil || last.LastChange == nil {
		return
	}
	switch d := r.LastChange.Compare(*last.LastChange); {
	case d < 0:
		r.problem(Older, "", fmt.Sprintf("its last change, %s, is before that of the last time, %s", stamp(*r.LastChange), stamp(*last.LastChange)))
	case d == 0:
		r.change(Same, "", "its last change is that of the last time: the same backup, or one that does not advance")
	}
}

func (r *Report) change(k Kind, object, text string) {
	r.Changes = append(r.Changes, Finding{k, object, text})
}

// long writes a time of minutes to months.
func long(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return strconv.FormatFloat(d.Hours()/24, 'f', 1, 64) + " days"
	case d >= time.Hour:
		return strconv.FormatFloat(d.Hours(), 'f', 1, 64) + " h"
	}
	return d.Round(time.Second).String()
}

func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

func count(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}
