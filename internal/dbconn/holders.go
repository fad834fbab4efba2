package dbconn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	// accountPrefix begins the lines of BesideLog about accounts that have one of the rights which it was asked for. The
	// account is in quotes, whatever is in its name, and openState or shutState goes before its rights: shut is one that
	// nobody can log in as, or a role.
	accountPrefix        = "account "
	openState, shutState = "open: ", "shut: "
	// shutSuffix ended the lines of those once, whose accounts were not in quotes; archives have such.
	shutSuffix = ", but shut"

	// Each asks for lines of three: "shut", an account that nobody can log in as; "role", who has a role, and which;
	// "everybody", roles that all accounts have.
	//
	// In MariaDB "invalid" is the password of nobody, but an account may have other ways in beside it: the operating
	// system's user of its name, over the socket. Where that is root, it is trusted with everything anyway.
	rolesMariaDB = `SELECT 'shut', CONCAT(User, '@', Host), '' FROM mysql.global_priv USE INDEX () WHERE JSON_VALUE(Priv, '$.account_locked') = 1 OR JSON_VALUE(Priv, '$.is_role') = 1
		OR JSON_VALUE(Priv, '$.plugin') = 'mysql_native_password' AND JSON_VALUE(Priv, '$.authentication_string') = 'invalid' AND (COALESCE(JSON_COMPACT(JSON_QUERY(Priv, '$.auth_or')), '[{}]') = '[{}]'
			OR User = 'root' AND Host = 'localhost' AND JSON_COMPACT(JSON_QUERY(Priv, '$.auth_or')) = '[{},{"plugin":"unix_socket"}]')
		UNION ALL SELECT 'role', CONCAT(User, '@', Host), CONCAT(Role, '@') FROM mysql.roles_mapping USE INDEX ()`
	rolesMySQL = `SELECT 'shut', CONCAT(User, '@', Host), '' FROM mysql.user USE INDEX () WHERE account_locked = 'Y'
		UNION ALL SELECT 'role', CONCAT(TO_USER, '@', TO_HOST), CONCAT(FROM_USER, '@', FROM_HOST) FROM mysql.role_edges USE INDEX ()
		UNION ALL SELECT 'everybody', @@GLOBAL.mandatory_roles, ''`
	// roleRights asks for rights of MariaDB's roles, which no view shows, by their bits, and of PUBLIC, which is one that
	// everybody has.
	roleRights = "SELECT CONCAT(User, '@'), 'a role' FROM mysql.global_priv USE INDEX () WHERE (JSON_VALUE(Priv, '$.is_role') = 1 OR User = 'PUBLIC') AND CAST(JSON_VALUE(Priv, '$.access') AS UNSIGNED) & %d > 0"

	// public and mandatory stand for all accounts: MariaDB's PUBLIC, MySQL's mandatory_roles.
	public, mandatory = "PUBLIC", "mandatory_roles"
)

// roleBits are the bits that rights have in MariaDB's tables: privilege_t, in sql/privilege.h.
var roleBits = map[string]int{"SUPER": 15, "SET USER": 30, "REPLICATION SLAVE ADMIN": 34, "REPLICATION MASTER ADMIN": 35, "BINLOG ADMIN": 36}

// Holder is an account, or a role, that has one of some rights, or may get it by a role.
type Holder struct {
	// User and Host are its name. A role of MariaDB has no host.
	User, Host string
	// How are its rights, and roles that have some.
	How string
	// Shut says that nobody can log in as it.
	Shut bool
}

// Opened reports whether it can be logged in as, and could not be, or had none of the rights, when others were known. Which
// rights it has does not matter: each of them is enough.
func (h Holder) Opened(known []Holder) bool {
	return !h.Shut && !slices.ContainsFunc(known, func(k Holder) bool { return !k.Shut && k.Name() == h.Name() })
}

// Name is USER@HOST.
func (h Holder) Name() string { return h.User + "@" + h.Host }

// String is its name and its rights.
func (h Holder) String() string { return strings.TrimSuffix(h.Name(), "@") + " (" + h.How + ")" }

// Is reports whether what it has is a user's: its own, or everybody's.
func (h Holder) Is(user string) bool {
	return h.User == user || h.Host == "" && (h.User == public || h.User == mandatory)
}

// line is what BesideLog writes of it: its name, and how it is.
func (h Holder) line() (name, how string) {
	state := openState
	if h.Shut {
		state = shutState
	}
	return accountPrefix + strconv.Quote(h.Name()), state + h.How
}

// Holders are those of a list by BesideLog. They need not be in it: a list of before has none.
func Holders(list []string) (all []Holder) {
	for _, line := range list {
		if line, ok := strings.CutPrefix(line, accountPrefix); ok {
			all = append(all, holderOf(line))
		}
	}
	return all
}

// holderOf is the one of a line, behind its prefix.
func holderOf(line string) Holder {
	if quoted, err := strconv.QuotedPrefix(line); err == nil && quoted[0] == '"' {
		name, _ := strconv.Unquote(quoted) // which QuotedPrefix has tried
		user, host := splitName(name)
		rest := strings.TrimPrefix(line[len(quoted):], beside)
		how, shut := strings.CutPrefix(rest, shutState)
		if !shut {
			how = strings.TrimPrefix(rest, openState)
		}
		return Holder{user, host, how, shut}
	}
	name, how, _ := strings.Cut(line, beside)
	how, shut := strings.CutSuffix(how, shutSuffix)
	user, host := splitName(name)
	return Holder{user, host, how, shut}
}

func splitName(name string) (user, host string) {
	at := strings.LastIndexByte(name, '@')
	return name[:max(0, at)], name[at+1:]
}

// HoldersOf lists who has one of rights, by what the server goes by, which need not be what its tables have, or may get it
// by a role; in order of their names.
func HoldersOf(ctx context.Context, on Querier, mysql bool, rights []string) (all []Holder, err error) {
	has, err := direct(ctx, on, mysql, rights)
	if err != nil {
		return nil, err
	}
	query := rolesMariaDB
	if mysql {
		query = rolesMySQL
	}
	shut, roles := map[string]bool{}, map[string][]string{} // who has a role
	err = Query(ctx, on, query, func(cols []string) error {
		switch cols[0] {
		case "shut":
			shut[cols[1]] = true
		case "role":
			roles[cols[2]] = append(roles[cols[2]], cols[1])
		case "everybody":
			for _, role := range listed(cols[1]) {
				roles[role] = append(roles[role], mandatory+"@")
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// What a role has those have who have it, and so on.
	for queue := slices.Sorted(maps.Keys(has)); len(queue) > 0; queue = queue[1:] {
		for _, who := range roles[queue[0]] {
			by := "role " + strings.TrimSuffix(queue[0], "@")
			if has[who] == nil {
				queue = append(queue, who)
			}
			if !slices.Contains(has[who], by) {
				has[who] = append(has[who], by)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		user, host := splitName(name)
		h := Holder{User: user, Host: host, How: strings.Join(has[name], ", "), Shut: shut[name] && name != public+"@"}
		if name != SupervisorUser+"@localhost" {
			all = append(all, h)
		}
	}
	return all, nil
}

// direct are the rights of those who have some themselves.
func direct(ctx context.Context, on Querier, mysql bool, rights []string) (has map[string][]string, err error) {
	quoted, bits := make([]string, len(rights)), uint64(0)
	for i, r := range rights {
		quoted[i] = Quote(r)
		if bit, ok := roleBits[r]; ok {
			bits |= 1 << bit
		}
	}
	has = map[string][]string{}
	add := func(cols []string) error {
		name := grantee(cols[0])
		has[name] = append(has[name], cols[1])
		return nil
	}
	err = Query(ctx, on, "SELECT grantee, privilege_type FROM information_schema.user_privileges WHERE privilege_type IN ("+strings.Join(quoted, ", ")+") ORDER BY 1, 2", add)
	if err == nil && !mysql {
		err = Query(ctx, on, fmt.Sprintf(roleRights, bits), add)
	}
	return has, err
}

// grantee is USER@HOST of 'USER'@'HOST', as information_schema writes accounts: quotes within stay as they are.
func grantee(account string) string {
	if at := strings.LastIndex(account, "'@'"); at > 0 {
		return account[1:at] + "@" + strings.TrimSuffix(account[at+3:], "'")
	}
	return account // a role, by its own table
}

// listed are the roles of a list as MySQL's mandatory_roles has it, in quotes or not.
func listed(text string) (roles []string) {
	for role := range strings.SplitSeq(strings.NewReplacer("`", "", "'", "", `"`, "").Replace(text), ",") {
		if role = strings.TrimSpace(role); role == "" {
			continue
		}
		if !strings.Contains(role, "@") {
			role += "@%"
		}
		roles = append(roles, role)
	}
	return roles
}

// Blinding returns the names of the users and roles that have one of rights, by which they may switch the binary log off,
// or may get one by a role.
func Blinding(ctx context.Context, on Querier, mysql bool, rights []string) (map[string]bool, error) {
	all, err := HoldersOf(ctx, on, mysql, rights)
	if err != nil {
		return nil, fmt.Errorf("list who may switch the binary log off: %w", err)
	}
	found := map[string]bool{SupervisorUser: true}
	for _, h := range all {
		found[h.User] = true
	}
	return found, nil
}

// Everybody reports whether all accounts are among those of Blinding.
func Everybody(blinding map[string]bool) bool { return blinding[public] || blinding[mandatory] }
