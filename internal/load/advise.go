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
	errParse          = 1064
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
		fault.Hint = l.otherHint(said, fault.Statement)
	}
}

// because adds what the server warned of to a refusal of the reader's own session that does not say why: a storage engine tells
// it there.
func (l *loader) because(ctx context.Context, err error) error {
	const cannotCreate, noSuchOption, deprecated = 1005, 1031, 1681
	fault, ok := errors.AsType[*dump.Error](err)
	if said, refused := dbconn.RefusalOf(err); !ok || !refused || said.Code != cannotCreate && said.Code != noSuchOption {
		return err
	}
	rows, failed := l.primary.conn.QueryContext(ctx, "SHOW WARNINGS")
	if failed != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var level, message string
		var code int
		if rows.Scan(&level, &code, &message) == nil && code != cannotCreate && code != noSuchOption && code != deprecated {
			fault.Msg += ": " + message
			break
		}
	}
	_ = rows.Err() // the fault stands
	return err
}

// otherHint is that for what is known by the statement, of which statement is the beginning.
func (l *loader) otherHint(said dbconn.Refusal, statement string) string {
	switch {
	case !l.fit.Fix && fit.HelpsAgainst(said):
		return "--fix has the server take it as older ones did, and says so"
	case !l.fit.Fix && fit.Repairable(said, statement):
		return "--fix makes the table without it, and says so"
	case l.fit.Accounts != fit.Skip && aboutAccounts.MatchString(statement):
		return "--accounts skip leaves accounts and rights out"
	case l.fit.Accounts != fit.Skip && l.fit.InSystem():
		return "the dump brings the database mysql of another server: --accounts skip leaves it out"
	case said.Code == errParse && delimiterInside.MatchString(statement):
		return "what should end before the line DELIMITER does not: the delimiter that stands before is missing"
	case said.Code == errParse && bodyWithoutEnd.MatchString(statement) && !endsBody.MatchString(statement):
		return "the body ends at its first semicolon: a line DELIMITER ;; is missing before it, and ;; and DELIMITER ; behind it"
	}
	return ""
}

var (
	// aboutAccounts matches what makes or changes accounts, or gives rights.
	aboutAccounts   = regexp.MustCompile(`(?i)^\W*((create|alter|drop|rename)\s+(or\s+replace\s+)?(user|role)|grant|revoke|set\s+password)\b`)
	delimiterInside = regexp.MustCompile(`\bDELIMITER\b`)
	bodyWithoutEnd  = regexp.MustCompile(`(?i)^\W*create\b.*\b(trigger|procedure|function|event)\b.*\bbegin\b`)
	endsBody        = regexp.MustCompile(`(?i)\bend\b\W*$|…$`)
)

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
