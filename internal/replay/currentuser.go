package replay

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// MariaDB logs GRANT and REVOKE of a role as they were said, and of CURRENT_USER, alone among statements, not whom it
// means: an applier, which is nobody, refuses them. They were said by an account that may give the role to others. If
// that is one alone, or all have the role already, whom it means is known.
//
// https://mariadb.com/kb/en/grant/#roles

// currentUserErrors are what an applier answers to these: no such account, and one that has no such role.
var currentUserErrors = []int{1133, 1962}

// roleOfCurrentUser is such a statement: GRANT or REVOKE, of what, the role, and how. ofCurrentUser finds one in what an
// applier says of it, and saysCurrentUser in the log.
const roleOfCurrentUser = `\s*(GRANT|REVOKE)\s+(ADMIN\s+OPTION\s+FOR\s+)?` +
	"(`(?:[^`]|``)+`|'(?:[^']|'')+'|(?-i:[\\w$\\x80-\\x{10ffff}]+))" +
	`\s+(?:TO|FROM)\s+CURRENT_USER(?:\s*\(\s*\))?(\s+WITH\s+ADMIN\s+OPTION)?\s*;?\s*`

var (
	ofCurrentUser   = regexp.MustCompile(`(?is)Query: '(` + roleOfCurrentUser + `)'$`)
	saysCurrentUser = regexp.MustCompile(`(?is)^` + roleOfCurrentUser + `$`)
)

// noAutoCreateUser is the bit of MariaDB's sql_mode without which an applier makes an account for CURRENT_USER.
const noAutoCreateUser = 1 << 28

// noteCurrentUser has an applier refuse such a statement, whatever mode it was said in: an account that it makes would have
// what REVOKE takes away later, in the place of who had it.
func (s *session) noteCurrentUser(q *binlog.Query) {
	if s.Server.Flavour != server.MariaDB || q.SQLMode&noAutoCreateUser != 0 || !saysCurrentUser.Match(q.SQL) {
		return
	}
	q.SQLMode |= noAutoCreateUser
	if s.loose == nil {
		s.loose = map[string]bool{}
	}
	s.loose[string(q.SQL)] = true
}

// mayGrant asks for the accounts that may give a role to others, by themselves or by a role that they have, and whether
// they have it themselves.
const mayGrant = `WITH RECURSIVE have (Host, User, Role, itself) AS (
	SELECT Host, User, Role, 1 FROM mysql.roles_mapping USE INDEX () WHERE Host <> '' AND (Role <> ? OR Admin_option = 'Y')
	UNION SELECT h.Host, h.User, m.Role, 0 FROM have h JOIN mysql.roles_mapping m USE INDEX () ON m.Host = '' AND m.User = h.Role WHERE m.Role <> ? OR m.Admin_option = 'Y')
SELECT Host, User, MAX(itself) FROM have WHERE Role = ? GROUP BY Host, User`

// grantee is an account, and whether it has the role itself, with the right to give it to others.
type grantee struct {
	host, user string
	itself     bool
}

// byCurrentUser does what such a statement says, and has the applier go on behind it.
func (s *session) byCurrentUser(ctx context.Context, state dbconn.ApplierState) (bool, error) {
	if s.Server.Flavour != server.MariaDB || !slices.Contains(currentUserErrors, state.Errno) {
		return false, nil
	}
	found := ofCurrentUser.FindStringSubmatch(state.Text)
	if found == nil {
		return false, nil
	}
	text, found := found[1], found[1:]
	role := unquoted(found[3])
	all, err := s.givers(ctx, role)
	if err != nil {
		return false, err
	}
	give := found[1][0]|0x20 == 'g'
	if give && len(all) > 0 && !slices.ContainsFunc(all, func(g grantee) bool { return !g.itself }) {
		return true, s.goOnBehind(ctx) // they have it
	}
	if len(all) != 1 {
		if give && s.loose[text] { // nobody gets it: too little can be given again
			return true, s.goOnBehind(ctx)
		}
		return false, nil
	}
	// The session, which is no grantee of the role either, may not say GRANT.
	const one = " WHERE Host = ? AND User = ? AND Role = ?"
	switch to := []any{all[0].host, all[0].user, role}; {
	case give:
		admin := "N"
		if found[4] != "" {
			admin = "Y"
		}
		_, err = s.db.ExecContext(ctx, giveRole, append(to, admin)...)
	case found[2] != "":
		_, err = s.db.ExecContext(ctx, "UPDATE mysql.roles_mapping USE INDEX () SET Admin_option = 'N'"+one, to...)
	default:
		_, err = s.db.ExecContext(ctx, "DELETE mysql.roles_mapping FROM mysql.roles_mapping USE INDEX ()"+one, to...)
	}
	if err == nil {
		err = s.exec(ctx, "FLUSH LOCAL PRIVILEGES")
	}
	if err != nil {
		return false, fmt.Errorf("give a role as its log says: %w", err)
	}
	return true, s.goOnBehind(ctx)
}

// giveRole gives an account a role as GRANT does. INSERT takes no hint that refuses a view: the look at who may give it has
// refused one, and nobody else is in the server.
const giveRole = "INSERT INTO mysql.roles_mapping (Host, User, Role, Admin_option) VALUES (?, ?, ?, ?)" +
	" ON DUPLICATE KEY UPDATE Admin_option = IF(Admin_option = 'Y', 'Y', VALUES(Admin_option))"

// givers are the accounts that may give a role to others.
func (s *session) givers(ctx context.Context, role string) (all []grantee, err error) {
	rows, err := s.db.QueryContext(ctx, mayGrant, role, role, role)
	if err != nil {
		return nil, fmt.Errorf("find who gave a role: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var g grantee
		if err := rows.Scan(&g.host, &g.user, &g.itself); err != nil {
			return nil, fmt.Errorf("find who gave a role: %w", err)
		}
		all = append(all, g)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("find who gave a role: %w", err)
	}
	return all, nil
}

// ofNobody gives those roles to whom they were given that the applier has given to an account without name and host, which
// it makes for CURRENT_USER, beside others in one statement, of a session whose sql_mode was without NO_AUTO_CREATE_USER. No
// account or role is called so otherwise. Where several may have given a role to themselves, nobody gets it.
func (s *session) ofNobody(ctx context.Context) error {
	if s.Server.Flavour != server.MariaDB {
		return nil
	}
	const nobody = " WHERE Host = '' AND User = ''"
	given := map[string]string{}
	err := dbconn.Query(ctx, s.db, "SELECT Role, Admin_option FROM mysql.roles_mapping USE INDEX ()"+nobody, func(cols []string) error {
		given[cols[0]] = cols[1]
		return nil
	})
	if err != nil || len(given) == 0 {
		return err
	}
	for role, admin := range given {
		all, err := s.givers(ctx, role)
		if err == nil && len(all) == 1 {
			_, err = s.db.ExecContext(ctx, giveRole, all[0].host, all[0].user, role, admin)
		}
		if err != nil {
			return fmt.Errorf("give a role as its log says: %w", err)
		}
	}
	return dbconn.ExecAll(ctx, s.db, "DELETE mysql.roles_mapping FROM mysql.roles_mapping USE INDEX ()"+nobody, "DELETE mysql.global_priv FROM mysql.global_priv USE INDEX ()"+nobody, "FLUSH LOCAL PRIVILEGES")
}

// unquoted is a name as it is without its quotes.
func unquoted(name string) string {
	if q := name[:1]; q == "`" || q == "'" {
		return strings.ReplaceAll(name[1:len(name)-1], q+q, q)
	}
	return name
}
