package dumpdir

import (
	"bytes"
	"slices"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// view is a file that makes a view, which must come behind those that it reads.
type view struct {
	name string
	text []byte
	part dump.Part
}

// inOrder returns the parts of views, each behind those whose names stand in its text.
func inOrder(views []view) []dump.Part {
	reads := func(v, other view) bool {
		return v.name != other.name && bytes.Contains(v.text, []byte(dbconn.QuoteName(other.name)))
	}
	var parts []dump.Part
	for len(views) > 0 {
		i := slices.IndexFunc(views, func(v view) bool {
			return !slices.ContainsFunc(views, func(other view) bool { return reads(v, other) })
		})
		i = max(i, 0) // in a circle, the names are those of something else
		parts, views = append(parts, views[i].part), slices.Delete(views, i, i+1)
	}
	return parts
}
