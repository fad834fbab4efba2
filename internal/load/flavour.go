package load

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/server"
)

// signs are words of statements that one flavour alone knows.
var signs = []struct {
	text    string
	flavour server.Flavour
}{
	{"utf8mb4_0900_", server.MySQL},
	{"caching_sha2_password", server.MySQL},
	{"uca1400_", server.MariaDB},
	{"WITH SYSTEM VERSIONING", server.MariaDB},
}

// otherFlavour has the error of a dump of the other flavour say so: who wrote it stands in its
// first line, or can be told by what failed.
func (t Target) otherFlavour(err error, s dump.Summary) {
	fault, ok := errors.AsType[*dump.Error](err)
	if !ok || fault.Hint != "" || !dbconn.OtherDialect(err) {
		return
	}
	maker := server.Flavour(s.Maker)
	for _, sign := range signs {
		if maker == "" && bytes.Contains([]byte(fault.Msg+fault.Statement), []byte(sign.text)) {
			maker = sign.flavour
		}
	}
	if maker != "" && maker != t.Server.Flavour {
		fault.Hint = fmt.Sprintf("the dump is one of %s, and this server is %s: load it with --server %s (ramaria up NAME --server %[3]s makes such an instance)", names[maker], names[t.Server.Flavour], maker)
	}
}

var names = map[server.Flavour]string{server.MySQL: "MySQL", server.MariaDB: "MariaDB"}
