package load

import (
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// leftOut are the variables that dumps set and that stay as they are here. The dumpers of managed and of
// replicated servers write them; an application has no right to set them, or the server does not know
// them, and what is loaded is the same without.
var leftOut = map[string]bool{
	// Off, what is loaded would be in no log, by which resets and recoveries work.
	"sql_log_bin": true,
	// The transactions of the server that was dumped. This one counts its own.
	"gtid_purged": true,
	// When statistics are computed, of the whole server. They are when a dump is loaded.
	"innodb_stats_auto_recalc": true,
}

// leaveOut takes what stays as it is here out of a statement of the dump, and reports whether anything
// is left of it.
func (l *loader) leaveOut(st *dump.Statement) bool {
	rest, found := dump.LeaveOut(st.Text, leftOut)
	for _, name := range found {
		if !slices.Contains(l.left, name) {
			l.left = append(l.left, name)
		}
	}
	if found != nil {
		st.Text = rest
	}
	return rest != nil
}

// sayLeft tells of what was left out.
func (l *loader) sayLeft(say func(format string, args ...any)) {
	if len(l.left) > 0 && say != nil {
		say("note: %s sets %s; that stays as it is here", l.name, strings.Join(l.left, ", "))
	}
}
