package dbconn

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Passwordless are accounts that can log in without a password, quoted, each with its
// way in.
type Passwordless map[string]string

// The ways in without a password.
const (
	byNothing = "no password"
	bySocket  = "the operating system's user, over the socket"
)

// passwordPlugins are those of accounts with passwords: where theirs is empty, none is asked for.
var passwordPlugins = []string{"", "mysql_native_password", "mysql_old_password", "ed25519", "parsec", "sha256_password", "caching_sha2_password"}

// authentication is one way to log in; of MariaDB's, the account itself and each of auth_or, where
// an empty one means the account's own.
// https://mariadb.com/kb/en/mysql-global_priv-table/
type authentication struct {
	Plugin *string          `json:"plugin"`
	Text   string           `json:"authentication_string"`
	Or     []authentication `json:"auth_or"`
	Locked bool             `json:"account_locked"`
	IsRole bool             `json:"is_role"`
}

// open returns how the account can log in without a password, "" if it cannot.
func (a authentication) open() string {
	if a.Locked || a.IsRole {
		return ""
	}
	ways := a.Or
	if len(ways) == 0 {
		ways = []authentication{a}
	}
	found := ""
	for _, w := range ways {
		if w.Plugin == nil {
			w = a
		}
		plugin := ""
		if w.Plugin != nil {
			plugin = *w.Plugin
		}
		switch {
		case slices.Contains(passwordPlugins, plugin) && w.Text == "":
			return byNothing
		case plugin == "unix_socket", plugin == "auth_socket":
			found = bySocket
		}
	}
	return found
}

// Passwordless returns the accounts of a running server that need no password. It is for accounts
// that may read the tables of the server itself, which a dump may have written to without the
// server knowing it yet.
func (d Dialect) Passwordless(ctx context.Context, db *sql.DB) (Passwordless, error) {
	found := Passwordless{}
	err := Query(ctx, db, d.Accounts, func(c []string) error {
		var a authentication
		if err := json.Unmarshal([]byte(c[2]), &a); err != nil {
			return fmt.Errorf("read account %s: %w", printable(accountName(c[0], c[1])), err)
		}
		if way := a.open(); way != "" {
			found[accountName(c[0], c[1])] = way
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for accounts without a password: %w", err)
	}
	return found, nil
}

func accountName(user, host string) string { return Quote(user) + "@" + Quote(host) }

// LockNew locks the accounts that need no password and did need one before, or were not there, and
// returns them. What ALTER USER refuses it writes to the table of accounts: the server knows none for the
// name of a host, which it does not look up, and where a dump has replaced all accounts our own may have
// lost the right; but a session that was there before may still write. ALTER USER comes first: other members
// of a cluster get no rows of that table, and the log of a durable instance takes them for a way to more rights.
func (d Dialect) LockNew(ctx context.Context, db *sql.DB, before Passwordless) (Passwordless, error) {
	found, err := d.Passwordless(ctx, db)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(found, func(name, way string) bool { return before[name] == way })
	if len(found) == 0 {
		return found, nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock accounts: %w", err)
	}
	defer conn.Close()
	// A dump may have written to the tables.
	if err := ExecAll(ctx, conn, "FLUSH PRIVILEGES", "SET SESSION sql_mode='NO_BACKSLASH_ESCAPES'"); err != nil {
		return nil, fmt.Errorf("lock accounts: %w", err)
	}
	refused := maps.Clone(found)
	maps.DeleteFunc(refused, func(name, _ string) bool {
		_, err := conn.ExecContext(ctx, "ALTER USER "+name+" ACCOUNT LOCK") // #nosec G202 -- quoted
		return err == nil
	})
	if len(refused) == 0 {
		return found, nil
	}
	if err := ExecAll(ctx, conn, d.LockAccounts+" WHERE "+strings.Join(refused.rows(), " OR "), "FLUSH PRIVILEGES"); err != nil {
		return nil, fmt.Errorf("lock accounts: %w", err)
	}
	return found, nil
}

// Has reports whether a server has an account of a user, by its table.
func (d Dialect) Has(ctx context.Context, db Querier, user string) (bool, error) {
	n := "0"
	if err := Query(ctx, db, fmt.Sprintf(d.Own, Quote(user)), func(c []string) error { n = c[0]; return nil }); err != nil {
		return false, fmt.Errorf("look for the account %s: %w", user, err)
	}
	return n != "0", nil
}

// rows are the conditions by which the accounts are found in a table.
func (p Passwordless) rows() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		at := strings.LastIndex(name, "'@'") + 1
		list = append(list, "User = "+name[:at]+" AND Host = "+name[at+1:])
	}
	return list
}

// OverTCP are those that other users of the machine can log in by.
func (p Passwordless) OverTCP() Passwordless {
	p = maps.Clone(p)
	maps.DeleteFunc(p, func(_, way string) bool { return way == bySocket })
	return p
}

// String lists the accounts for people.
func (p Passwordless) String() string {
	const most = 5
	names := slices.Sorted(maps.Keys(p))
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return printable(text)
}

// printable leaves out of a name what a terminal might obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// LockedNote says that accounts were locked, and how they come to be used.
func (p Passwordless) LockedNote() string {
	return fmt.Sprintf("locked, since they need no password: %s; ALTER USER ... IDENTIFIED BY '...' ACCOUNT UNLOCK lets one in", p)
}
