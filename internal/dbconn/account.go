package dbconn

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// Login is an account of a running server.
type Login struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// SupervisorUser is the account by which Ramaria itself speaks to a server. It
// exists for socket connections only. Its name has no more than the 16 characters that an account
// could have before MySQL 5.7, which is what columns and scripts that list accounts still reckon with.
const SupervisorUser = "ramaria_admin"

// NewPassword returns a random password of 120 bits in characters that need no quoting in
// a shell, a URL or an option file, and of all the kinds that servers may ask for
// (validate_password, simple_password_check).
func NewPassword() string {
	b := make([]byte, 15)
	if _, err := rand.Read(b); err != nil {
		panic(err) // crypto/rand.Read never fails on Linux
	}
	return strings.NewReplacer("+", "A", "/", "B", "-", "C", "_", "D").Replace(base64.RawURLEncoding.EncodeToString(b)) + "_aA1"
}

// InitSQL returns the statements, one a line, run at every start of an instance
// before anybody can connect. The supervisor gets every right; the application
// every right but those that would let it switch the binary log off, and its database.
// They are as few as can be: each costs a tenth of a millisecond of start. readOnly says
// that read_only shall bind the application too.
//
// What else the application's account has stays: roles, rights, limits. A log has how it got them, and not that a
// start took them away.
//
// The supervisor comes last: MySQL passes over an error in these statements and all that
// follow, so that its log-in proves that they all were run.
func (d Dialect) InitSQL(supervisor, app Login, database string, readOnly bool, also ...string) string {
	withheld := slices.Concat(d.Withheld, also)
	if readOnly {
		withheld = append(withheld, d.ObeyReadOnly)
	}
	apps := appAccounts(app)
	names, super := strings.Join(apps, ", "), account(supervisor, "localhost")
	lines := []string{initSettings}
	lines = append(lines, d.PutBackUsers(apps, app.Password, super)...)
	lines = append(lines, grantAll(names), "REVOKE "+strings.Join(withheld, ", ")+" ON *.* FROM "+names)
	if database != "" {
		lines = append(lines, "CREATE DATABASE IF NOT EXISTS "+QuoteName(database))
	}
	lines = append(lines, d.CreateUsers(super, identified(super, supervisor))...)
	return strings.Join(append(lines, grantAll(super)), ";\n") + ";\n"
}

func grantAll(names string) string {
	return "GRANT ALL PRIVILEGES ON *.* TO " + names + " WITH GRANT OPTION"
}

func account(l Login, host string) string { return Quote(l.User) + "@" + Quote(host) }

func identified(account string, l Login) string {
	return account + " IDENTIFIED BY " + Quote(l.Password)
}

// IdentifiedBy lists accounts with their password, as CREATE USER and ALTER USER take them.
func IdentifiedBy(accounts []string, password string) string {
	list := make([]string, len(accounts))
	for i, a := range accounts {
		list[i] = identified(a, Login{Password: password})
	}
	return strings.Join(list, ", ")
}

// appAccounts are the application's accounts: two, since an anonymous or other account
// at localhost found in a copied data directory would win over app@% for socket
// connections.
func appAccounts(app Login) []string { return []string{account(app, "localhost"), account(app, "%")} }

// GrantPattern returns how GRANT ... ON names one database and no other: as a pattern, where _ and % stand for others. The servers
// take one of 64 characters.
func GrantPattern(database string) string {
	return strings.NewReplacer("_", `\_`, "%", `\%`).Replace(database)
}

// MakeLease makes an account that may do anything in one database, and nothing else.
func (d Dialect) MakeLease(ctx context.Context, conn *sql.Conn, l Login, database string) error {
	verbatim := false
	if d.Verbatim != "" {
		err := conn.QueryRowContext(ctx, "SELECT @@GLOBAL."+d.Verbatim).Scan(&verbatim) // each time: SET GLOBAL may change it
		if err != nil && !IsUnknownVariable(err) {
			return fmt.Errorf("make the account of a clone: %w", err)
		}
	}
	_, err := conn.ExecContext(ctx, d.leaseSQL(l, database, verbatim))
	return err
}

// leaseSQL returns its statements; verbatim says that GRANT takes the name of a database for no pattern.
func (d Dialect) leaseSQL(l Login, database string, verbatim bool) string {
	if !verbatim {
		database = GrantPattern(database)
	}
	apps := appAccounts(l)
	names := strings.Join(apps, ", ")
	lines := d.CreateUsers(names, IdentifiedBy(apps, l.Password))
	if p := d.Leased; p != "" {
		lines = append(lines, "GRANT "+p+" ON *.* TO "+names)
	}
	return strings.Join(append(lines, "GRANT ALL PRIVILEGES ON "+QuoteName(database)+".* TO "+names), ";\n")
}

// EndLeaseSQL returns the statement that removes what MakeLease made.
func (d Dialect) EndLeaseSQL(l Login) string {
	return "DROP USER IF EXISTS " + strings.Join(appAccounts(l), ", ")
}

// ForgetSQL returns the statement that removes what InitSQL made, for any number of
// accounts of the supervisor and of applications. It is one, since the session that runs
// it belongs to one of them.
func (d Dialect) ForgetSQL(supervisors, apps []Login) string {
	var names []string
	for _, l := range supervisors {
		names = append(names, account(l, "localhost"))
	}
	for _, l := range apps {
		names = append(names, appAccounts(l)...)
	}
	slices.Sort(names)
	return "DROP USER IF EXISTS " + strings.Join(slices.Compact(names), ", ")
}

// Quote writes a string literal for sessions with NO_BACKSLASH_ESCAPES, or of a text without
// backslashes.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// QuoteName writes an identifier in backticks.
func QuoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

// CheckUser refuses user names that cannot be an account on every server.
func CheckUser(name string) error {
	const longest = 32 // characters, MySQL; MariaDB has 80
	if name == "" || len(name) > longest || strings.ContainsAny(name, "\\'\"`\n\r\x00") || name == SupervisorUser {
		return fmt.Errorf("use account name %q: 1 to %d characters without quotes or backslashes, and not %s\nhint: --user app", name, longest, SupervisorUser)
	}
	return nil
}
