package replay

import (
	"context"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// A session of MariaDB may have done without CHECKs. Its rows events say so, and all of them do once they are merged. But an
// ALTER TABLE that adds a CHECK to rows which do not meet it does not: an applier refuses it. A rows event leaves the applier
// with CHECKs on, whatever the server has, and one that has just started does as the server has it.
//
// https://mariadb.com/docs/server/reference/sql-statements/data-definition/constraint#check_constraint_checks

// checkFailed is what an applier answers to it: ER_CONSTRAINT_FAILED.
const checkFailed = 4025

// leaveChecks has appliers that start do without CHECKs. The option file cannot.
func (s *session) leaveChecks(ctx context.Context) error {
	if s.Server.Flavour != server.MariaDB {
		return nil
	}
	return s.exec(ctx, "SET GLOBAL check_constraint_checks = OFF")
}

// beginAtCheck has the applier begin with the statement that it stopped at, once, if a CHECK was in its way.
func (s *session) beginAtCheck(ctx context.Context, state dbconn.ApplierState) (bool, error) {
	i, ok := s.part(state.File)
	at := spot{i, state.Pos}
	if s.Server.Flavour != server.MariaDB || state.Errno != checkFailed || !ok || at == s.checkAt {
		return false, nil
	}
	s.checkAt = at
	return true, s.startApplier(ctx)
}
