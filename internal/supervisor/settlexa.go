package supervisor

import (
	"context"

	"github.com/ramaria-db/ramaria/internal/server"
)

// settleXA has what InnoDB of a MariaDB server that was killed has prepared be what its log says, before its server
// starts: see package xa. Members of clusters know no XA transactions.
func (s *Supervisor) settleXA(ctx context.Context) error {
	if s.keeper == nil || s.isMember() || s.inst.Server.Flavour != server.MariaDB {
		return nil
	}
	done, err := s.keeper.SettleXA(ctx, s.options.Keys, s.waitForArchive)
	s.state.Warnings = nil
	if err == nil && len(done.Prepared)+len(done.Committed)+len(done.RolledBack) > 0 {
		s.log.Info("XA transactions are as the log says", "prepared", done.Prepared, "committed", done.Committed, "rolled back", done.RolledBack)
	}
	return err
}
