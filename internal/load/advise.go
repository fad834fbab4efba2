package load

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/fit"
)

// Numbers of errors that an option, or another command, helps against.
// https://dev.mysql.com/doc/mysql-errors/9.0/en/server-error-reference.html https://mariadb.com/kb/en/mariadb-error-codes/
const (
	errAccessDenied   = 1045
	errUnknownZone    = 1298
	errNoCollation    = 1273
	errNoDefiner      = 1449
	errIgnoredValue   = 1906 // MariaDB's of a value for a generated column
	errGeneratedValue = 3105 // MySQL's
)

// advise gives the fault of a dump the hint that helps against what the server has said.
func (l *loader) advise(ctx context.Context, err error) {
	fault, ok := errors.AsType[*dump.Error](err)
	said, refused := dbconn.RefusalOf(err)
	if !ok || !refused || fault.Hint != "" {
		return
	}
	switch said.Code {
	case errNoDefiner, errAccessDenied:
		fault.Hint = definerHint(said)
	case errNoCollation:
		fault.Hint = l.collationHint(ctx, said)
	case errGeneratedValue, errIgnoredValue:
		fault.Hint = "--fix leaves out what the dump has for generated columns, which the server computes"
	case errUnknownZone:
		fault.Hint = "{ echo 'USE mysql;'; mariadb-tzinfo-to-sql /usr/share/zoneinfo; } | ramaria sql NAME has the server know time zones by their names (mysql_tzinfo_to_sql for MySQL)"
	default:
		switch {
		case l.fit.Fix:
		case fit.HelpsAgainst(said):
			fault.Hint = "--fix has the server take it as older ones did, and says so"
		case fit.Repairable(said, fault.Statement):
			fault.Hint = "--fix makes the table without it, and says so"
		}
		if fault.Hint == "" && l.fit.Accounts != fit.Skip && aboutAccounts(fault.Statement) {
			fault.Hint = "--accounts skip leaves accounts and rights out"
		}
	}
}

// aboutAccounts says that a statement makes or changes accounts, or gives rights.
func aboutAccounts(text string) bool {
	return regexp.MustCompile(`(?i)^\W*((create|alter|drop|rename)\s+(or\s+replace\s+)?(user|role)|grant|revoke|set\s+password)\b`).MatchString(text)
}

var quotedCollation = regexp.MustCompile(`'(\w+)'`)

// collationHint says what can be had for a collation that the server does not know.
func (l *loader) collationHint(ctx context.Context, said dbconn.Refusal) string {
	m := quotedCollation.FindStringSubmatch(said.Message)
	if m == nil {
		return ""
	}
	for _, other := range fit.Alike(strings.ToLower(m[1])) {
		if known, err := l.KnowsCollation(ctx, other); err == nil && known {
			return fmt.Sprintf("--collations auto takes %s for it, which comes nearest here", other)
		}
	}
	return "--collations " + m[1] + "=OTHER takes another for it; ramaria sql NAME -e 'SHOW COLLATION' lists what there is"
}

// definerHint says what to do where a server says that the definer of what a statement uses is no account; "" where it says
// something else. MySQL says to a session without SUPER, of a view, that it is denied access itself, though it is logged in.
func definerHint(said dbconn.Refusal) string {
	const remedy = "--definers mine makes what the dump brings yours; or CREATE USER %[1]s ACCOUNT LOCK before (ramaria sql NAME, or another --from), with the rights that it needs"
	switch account := quotedAccount.FindString(said.Message); {
	case said.Code == errNoDefiner && account != "":
		return fmt.Sprintf("the definer %[1]s of a view, trigger or routine is no account here: "+remedy, account)
	case said.Code == errAccessDenied:
		return fmt.Sprintf("the definer of a view that it uses is no account here, or lacks a right; SELECT DISTINCT DEFINER FROM information_schema.views lists them: "+remedy, "DEFINER")
	}
	return ""
}

var quotedAccount = regexp.MustCompile(`'[^']*'@'[^']*'`)
