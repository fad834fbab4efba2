package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// alarm has something in it when a session may have got a right by which it can switch the log off.
func (s *Supervisor) alarm() <-chan struct{} {
	if s.keeper == nil {
		return nil
	}
	return s.keeper.Alarm()
}

// viewInPlace is what the keeper is told of a view in the place of a table of the server's own.
const viewInPlace = "nobody can look who may: there is a view in the place of a table of the server's own"

// blindWarning is said of sessions that may have committed what the log does not have, "" while there are none. What they did
// a base backup is to have; what they will do nothing has until the server is restarted.
func (w *watch) blindWarning() string {
	b := w.keeper.Blind()
	if b.Since.IsZero() {
		return ""
	}
	first := ""
	if slices.Contains(b.Why, viewInPlace) {
		first = "DROP VIEW, and RENAME the table back, before anything else: no server starts with such a view; then "
	}
	return fmt.Sprintf("since %s commits may be missing in the archive, since a session may have switched the log off: %s\nhint: %sramaria down %s && ramaria up %[4]s ends all sessions, and takes from the application's account the rights that it has too much; before that, REVOKE those of roles, and drop other accounts that are not yours",
		b.Since.Local().Format(time.DateTime), strings.Join(b.Why, "; "), first, w.inst.Name)
}

// blindSince is since when there are such sessions, nil if there are none.
func (s *Supervisor) blindSince() *time.Time {
	if s.keeper == nil {
		return nil
	}
	b := s.keeper.Blind()
	if b.Since.IsZero() {
		return nil
	}
	return &b.Since
}
