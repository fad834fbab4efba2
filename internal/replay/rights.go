package replay

import (
	"context"
	"regexp"
	"slices"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// MariaDB logs a GRANT behind a DROP or RENAME of what it is about, if both are at work at one time. What an applier then
// refuses is a right on something that is not there.

// goneErrors are what an applier answers to it: no such routine, or table.
var goneErrors = []int{1305, 1146}

var isGrant = regexp.MustCompile(`(?is)Query: '\s*(?:/\*.*?\*/\s*)*GRANT\b`)

// grantOnGone has the applier go on behind such a GRANT.
func (s *session) grantOnGone(ctx context.Context, state dbconn.ApplierState) (bool, error) {
	if s.Server.Flavour != server.MariaDB || !slices.Contains(goneErrors, state.Errno) || !isGrant.MatchString(state.Text) {
		return false, nil
	}
	return true, s.goOnBehind(ctx)
}
