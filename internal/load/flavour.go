package load

import (
	"errors"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/server"
)

// otherFlavour makes the error of a dump of the other flavour say so. The first line of a dump says
// which program wrote it; where it does not, words of the failed statement may.
func (t Target) otherFlavour(err error, s dump.Summary) {
	fault, ok := errors.AsType[*dump.Error](err)
	said, _ := dbconn.RefusalOf(err)
	collation := said.Code == errNoCollation
	if !ok || fault.Hint != "" && !collation || !dbconn.OtherDialect(err) {
		return
	}
	maker := server.FamilyOf(server.Flavour(s.Maker))
	if maker == nil {
		maker = server.FamilyByWords(fault.Msg + fault.Statement)
	}
	switch {
	case maker == nil || maker.Flavour == t.Server.Flavour:
	case collation:
		fault.Hint += fmt.Sprintf("; or load it with --server %s", maker.Flavour)
	default:
		fault.Hint = fmt.Sprintf("the dump is one of %s, and this server is %s: load it with --server %s (ramaria up NAME --server %[3]s makes such an instance)", maker.Name, t.Server.Family().Name, maker.Flavour)
	}
}
