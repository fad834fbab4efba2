package dbconn

import (
	"context"
	"database/sql"
	"strings"
)

const (
	// accountPrefix begins the lines of BesideLog about accounts that have one of the rights which it was asked for, and
	// shutSuffix ends those of accounts that nobody can log in as, and of roles.
	accountPrefix, shutSuffix = "account ", ", but shut"
	// shut asks for accounts that nobody can log in as: those that are locked, and MariaDB's root as a new data
	// directory has it, which lets in the operating system's root alone.
	shutMariaDB = "SELECT CONCAT(User, '@', Host) FROM mysql.global_priv WHERE JSON_VALUE(Priv, '$.account_locked') = 1 OR JSON_VALUE(Priv, '$.authentication_string') = 'invalid'"
	shutMySQL   = "SELECT CONCAT(User, '@', Host) FROM mysql.user WHERE account_locked = 'Y'"
	// rolesMariaDB asks for roles that have SUPER or BINLOG ADMIN, which no view shows: these are their bits.
	rolesMariaDB = "SELECT CONCAT(User, '@') FROM mysql.global_priv WHERE JSON_VALUE(Priv, '$.is_role') = 1 AND JSON_VALUE(Priv, '$.access') & ((1 << 15) | (1 << 36)) > 0"
)

// powerful adds the accounts that have one of rights, by what the server goes by, which need not be what its tables have.
func powerful(ctx context.Context, db *sql.DB, mysql bool, rights []string, add func(name, how string)) error {
	quoted := make([]string, len(rights))
	for i, r := range rights {
		quoted[i] = Quote(r)
	}
	has := map[string][]string{}
	err := Query(ctx, db, "SELECT grantee, privilege_type FROM information_schema.user_privileges WHERE privilege_type IN ("+strings.Join(quoted, ", ")+") ORDER BY 1, 2", func(cols []string) error {
		name := strings.ReplaceAll(cols[0], "'", "")
		has[name] = append(has[name], cols[1])
		return nil
	})
	if err != nil {
		return err
	}
	shut := map[string]bool{}
	note := func(cols []string) error { shut[cols[0]] = true; return nil }
	if mysql {
		err = Query(ctx, db, shutMySQL, note)
	} else if err = Query(ctx, db, shutMariaDB, note); err == nil {
		err = Query(ctx, db, rolesMariaDB, func(cols []string) error {
			has[cols[0]], shut[cols[0]] = []string{"a role"}, true
			return nil
		})
	}
	if err != nil {
		return err
	}
	for name, rights := range has {
		how := strings.Join(rights, ", ")
		if shut[name] {
			how += shutSuffix
		}
		if name != SupervisorUser+"@localhost" {
			add(accountPrefix+name, how)
		}
	}
	return nil
}

// Powerful are the accounts of a list by BesideLog that have one of the rights which it was asked for, and our own, as
// USER@HOST; open are those that somebody can log in as, each with its rights.
func Powerful(list []string) (all, open []string) {
	all = []string{SupervisorUser + "@localhost"}
	for _, line := range list {
		line, ok := strings.CutPrefix(line, accountPrefix)
		if !ok {
			continue
		}
		account, how, _ := strings.Cut(line, beside)
		all = append(all, account)
		if !strings.HasSuffix(how, shutSuffix) {
			open = append(open, account+" ("+how+")")
		}
	}
	return all, open
}
