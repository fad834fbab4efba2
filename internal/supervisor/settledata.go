package supervisor

import (
	"context"

	"github.com/ramaria-db/ramaria/internal/server"
)

// settleData has the data of a MariaDB server that was killed be what its log says, before its server starts: see package
// durable. Members of clusters know no XA transactions.
func (s *Supervisor) settleData(ctx context.Context) error {
	if s.keeper == nil || s.isMember() || s.inst.Server.Flavour != server.MariaDB {
		return nil
	}
	done, err := s.keeper.Settle(ctx, s.options.Keys, s.waitForArchive)
	s.state.Warnings = nil
	if err == nil && done.Any() {
		s.log.Info("XA transactions are as the log says", "prepared", done.Prepared, "committed", done.Committed, "rolled back", done.RolledBack, "done again", done.Redone)
	}
	if len(done.Remade) > 0 {
		s.log.Info("tables were made again as the log has them, which the server had dropped when it recovered", "tables", done.Remade)
	}
	if err == nil && len(done.Unsure) > 0 {
		s.log.Warn("the log has some of these XA transactions committed, which are prepared: see XA RECOVER", "names", done.Unsure)
	}
	return err
}
