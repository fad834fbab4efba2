package reset

import (
	"database/sql"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Rights count what the log has of rights that an account has everywhere, such as to switch the log off: as long as they
// stay the same, nobody has got one, or lost one.
type Rights struct {
	// Given and Taken count what may have given such a right, and what may have taken one away. What is not understood
	// is both.
	Given, Taken int
	// Public counts what may have given one to everybody, or to the account that defines what clones have of others, and
	// is part of Given.
	Public int
	// Routines counts procedures that were made or altered in databases that are not watched.
	Routines int
}

// Passing reports whether somebody may have had a right since was that a look at r does not show any more: it was given
// and taken back. borrows and reaches are those of the template whose clones could have used it.
func (r Rights) Passing(was Rights, borrows, reaches bool) bool {
	taken := r.Taken != was.Taken
	return taken && (r.Public != was.Public || borrows && r.Given != was.Given) || reaches && r.Routines != was.Routines
}

// accountSchema is the database that accounts and their rights stand in.
const accountSchema = "mysql"

// unknown notes what may have changed rights in any way, and lost that the log does not tell.
func (r *Rights) unknown() { r.Given, r.Taken, r.Public = r.Given+1, r.Taken+1, r.Public+1 }
func (r *Rights) lost()    { r.Given, r.Taken, r.Routines = r.Given+1, r.Taken+1, r.Routines+1 }

var (
	// gives and takes find, by the first words of a statement, what gives rights and takes them. An account that is made
	// or altered gets such a right by a role only. RENAME USER is both: a definer is found by the name.
	gives = regexp.MustCompile(`^(?:GRANT|SET DEFAULT ROLE|RENAME USER)\b`)
	makes = regexp.MustCompile(`^(?:CREATE|ALTER|CREATE OR REPLACE) USER\b`)
	takes = regexp.MustCompile(`^(?:REVOKE|RENAME USER|DROP (?:USER|ROLE)|CREATE OR REPLACE (?:USER|ROLE))\b`)
	// inOneDatabase finds a GRANT of rights to a database, or to what is in it, as far as it is plain.
	inOneDatabase = regexp.MustCompile("(?i)^\\s*grant\\s[\\w\\s,()]*?\\son\\s+(?:(?:table|function|procedure|package|package\\s+body)\\s+)?(?:`[^`]+`|\\w+)\\s*\\.")
	// procedureHead finds the name of the procedure or package that a statement makes or alters, as far as it is plain: the
	// name of its database where a dot comes behind.
	procedureHead = regexp.MustCompile("(?is)^\\s*(?:create|alter)\\b.*?\\b(?:procedure|package\\s+body|package)\\s+(?:if\\s+not\\s+exists\\s+)?(?:`([^`]+)`|\"([^\"]+)\"|([^`\"\\s.(;]+))\\s*(\\.)?")
)

// changeRights notes what a statement may have done to rights. accounts says that it names the database of accounts, or is
// of a session there.
func (j *Journal) changeRights(sql string, kind effect, mentioned map[string]bool, accounts bool) {
	r := &j.rights
	if kind == unknown || accounts {
		r.unknown()
		return
	}
	if kind != wide {
		return
	}
	words := firstWords(sql, 4)
	if gives.MatchString(words) && !inOneDatabase.MatchString(sql) || makes.MatchString(words) && mentioned["role"] {
		r.Given++
		if mentioned["public"] || j.standIn != "" && mentioned[strings.ToLower(j.standIn)] {
			r.Public++
		}
	}
	if takes.MatchString(words) {
		r.Taken++
	}
}

// makesProcedure reports whether a statement may make or alter a procedure, or a package of them, in a database that is
// not watched. session is that of its session.
func (j *Journal) makesProcedure(sql, session string, mentioned map[string]bool) bool {
	if !mentioned["procedure"] && !mentioned["package"] || strings.HasPrefix(firstWords(sql, 1), "DROP") {
		return false
	}
	m := procedureHead.FindStringSubmatch(sql)
	if len(m) > 0 && m[4] != "" {
		session = m[1] + m[2] + m[3]
	}
	return m == nil || j.watched[session] == nil
}

// Rights reads the log to its end and returns what it has of rights.
func (j *Journal) Rights() Rights {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	return j.rights
}

// heed says which accounts are those of leases, which have a right of some only if others give it to them, and that which
// defines what clones have, and whether the log has what foreign keys change.
func (j *Journal) heed(leased func(user string) bool, standIn string, blinding []string, cascadesLogged bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.leased, j.standIn, j.blinding, j.cascadesLogged = leased, standIn, blinding, cascadesLogged
}

// strengthens notes the accounts of leases to which a statement about accounts may give a right by which they switch the
// log off, become somebody who may, or call what does: a role, any of j.blinding, EXECUTE.
func (j *Journal) strengthens(sql string, mentioned map[string]bool) {
	if j.leased == nil || !gives.MatchString(firstWords(sql, 4)) {
		return
	}
	right := !mentioned["on"] || mentioned["all"] || mentioned["execute"] || slices.ContainsFunc(j.blinding, func(right string) bool {
		return !slices.ContainsFunc(strings.Fields(strings.ToLower(right)), func(word string) bool { return !mentioned[word] })
	})
	for name := range mentioned {
		if right && j.leased(name) {
			j.mighty[name] = true
		}
	}
}

// Strengthen notes that an account has such a right.
func (j *Journal) Strengthen(user string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mighty[user] = true
}

// Mighty reads the log to its end and reports whether an account of a lease has got such a right, also if it has it no
// more: a session in which the log is off keeps it so.
func (j *Journal) Mighty(user string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	return j.mighty[user]
}

// everybodys asks for the roles that all accounts have by a setting, along with other questions: no log tells of it.
func (r *Engine) everybodys() []dbconn.Question {
	text := r.Server.Dialect().Everybodys
	if text == "" {
		return nil
	}
	return []dbconn.Question{{Text: text, Row: func(rows *sql.Rows) error {
		var roles sql.NullString
		err := rows.Scan(&roles)
		if err == nil {
			r.Journal.noteRoles(roles.String)
		}
		return err
	}}}
}

// noteRoles notes the roles that all accounts have: others than before may give a right to everybody, or take one.
func (j *Journal) noteRoles(roles string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.roles != roles {
		j.roles = roles
		j.rights.unknown()
	}
}

// Roles are those that all accounts have by a setting, as the last reset found it.
func (j *Journal) Roles() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.roles
}
