package durable

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// persistedName is the file in which MySQL keeps what SET PERSIST has set.
	// https://dev.mysql.com/doc/refman/en/persisted-system-variables.html
	persistedName = "mysqld-auto.cnf"
	// mostPersisted bounds what is read of it, in bytes.
	mostPersisted = 1 << 20
)

// alsoOutside lists what is outside of the promise besides tables: what is in no log.
func alsoOutside(dataDir string) (list []string, err error) {
	set, err := persisted(dataDir)
	if set {
		list = append(list, "settings by SET PERSIST since the last base backup")
	}
	return list, err
}

// askOutside asks a server on a data directory what of its data is outside of the promise, and what is in no log.
func askOutside(ctx context.Context, db *sql.DB, flavour server.Flavour, dataDir string) (outside, beside []string, err error) {
	if outside, err = outsideOf(ctx, db, flavour); err != nil {
		return nil, nil, err
	}
	also, err := alsoOutside(dataDir)
	if err != nil {
		return nil, nil, err
	}
	if beside, err = dbconn.BesideLog(ctx, db, flavour == server.MySQL, server.FamilyOf(flavour).Blinding()); err != nil {
		return nil, nil, err
	}
	blinding, err := blindingIn(ctx, db, beside)
	return slices.Concat(outside, also, blinding), beside, err
}

// tablesOf are the tables of an engine in what Outside of a base says, SCHEMA.TABLE.
func tablesOf(outside []string, engine string) (tables []string) {
	for _, text := range outside {
		if table, ok := strings.CutSuffix(text, " ("+engine+")"); ok {
			tables = append(tables, table)
		}
	}
	return tables
}

// preparedWords begin what Outside of a base that is not settled says of prepared transactions.
const preparedWords = "prepared XA transactions"

// nonePrepared reports whether no XA transaction is prepared in a base of whatever age.
func nonePrepared(b archive.Base) bool {
	return len(b.Prepared) == 0 && !slices.ContainsFunc(b.Outside, func(text string) bool { return strings.HasPrefix(text, preparedWords) })
}

// persisted reports whether a data directory has settings that outlive a restart.
func persisted(dataDir string) (bool, error) {
	f, err := sys.OpenIn(dataDir, persistedName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostPersisted))
	if err != nil {
		return false, fmt.Errorf("read %s: %w", persistedName, err)
	}
	var kinds map[string]json.RawMessage
	if json.Unmarshal(text, &kinds) != nil {
		return true, nil // what cannot be read may be anything
	}
	for _, raw := range kinds {
		var set map[string]json.RawMessage
		if json.Unmarshal(raw, &set) == nil && len(set) > 0 { // the version is no object
			return true, nil
		}
	}
	return false, nil
}
