package template

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Definers says who defines the objects of a clone. What belongs to somebody who may switch the
// binary log off could do so by the rights of its definer, whoever calls it, and no reset would see
// what the session changes from then on. So clones have it of an account that may do all but that.
// A definer who is no account stays: the server refuses the call, as in the template.
type Definers struct {
	// Blinding are the names of the accounts and roles that may switch the log off, or may get to.
	Blinding map[string]bool
	// Everybody says that all may, by the rights of PUBLIC or by roles that all have.
	Everybody bool
	// StandIn is who has their objects in clones.
	StandIn dbconn.Login
}

// ReadDefiners asks a server which accounts may switch the binary log off, by one of rights. The zero stand-in
// leaves all objects as they are.
func ReadDefiners(ctx context.Context, conn *sql.Conn, mysql bool, rights []string, standIn dbconn.Login) (Definers, error) {
	names, err := dbconn.Blinding(ctx, conn, mysql, rights)
	if err != nil {
		return Definers{}, fmt.Errorf("look for definers who may switch the binary log off: %w", err)
	}
	return Definers{Blinding: names, Everybody: dbconn.Everybody(names), StandIn: standIn}, nil
}

const definerWord = "DEFINER="

// definerIn returns where the account stands in the statement that makes an object, as the server
// writes it: nothing before it is in quotes, which are double ones under ANSI_QUOTES. Both are 0 if
// there is none.
func definerIn(create string) (from, to int) {
	from = strings.Index(create, definerWord) + len(definerWord)
	if from < len(definerWord) || strings.IndexAny(create, "`\"'") != from || create[from] == '\'' {
		return 0, 0
	}
	to = from + closing(create[from:], true)
	if strings.HasPrefix(create[to:], "@"+create[from:from+1]) { // a role has no host
		to += 1 + closing(create[to+1:], true)
	}
	return from, to
}

// inQuotes is a name as the server writes it, in quotes of a kind.
func inQuotes(name, quote string) string {
	return quote + strings.ReplaceAll(name, quote, quote+quote) + quote
}

// unquoted is the name that is in quotes.
func unquoted(name string) string {
	quote := name[:1]
	return strings.ReplaceAll(name[1:len(name)-1], quote+quote, quote)
}

// replaces reports whether clones have an object of another definer. The server finds a definer's
// rights by the name, and also those of an account of another host that fits. A name in another
// character set is taken for one of those who may.
func (d Definers) replaces(o Object) bool {
	user, foreign := d.foreign(o)
	switch {
	case !foreign:
		return false
	case user == d.StandIn.User, d.Everybody, d.Blinding[user]:
		return true
	}
	return o.Client != "utf8mb4" && strings.ContainsFunc(user, func(r rune) bool { return r >= 0x80 })
}

// foreign returns the name of an object's definer, and whether that is somebody else than the stand-in.
func (d Definers) foreign(o Object) (user string, foreign bool) {
	from, to := definerIn(o.Create)
	if to == 0 || d.StandIn.User == "" {
		return "", false
	}
	end := from + closing(o.Create[from:], true)
	user, host := unquoted(o.Create[from:end]), ""
	if end < to {
		host = unquoted(o.Create[end+1 : to])
	}
	return user, user != d.StandIn.User || host != "localhost" && host != "%"
}

// Open reports whether sessions may switch the log off by rights that nobody stands in for: those that all accounts
// have, or the stand-in.
func (d Definers) Open() bool {
	return d.StandIn.User != "" && (d.Everybody || d.Blinding[d.StandIn.User])
}

// Redefined is a shape of the same rows and objects with other definers.
func (s *Shape) Redefined(d Definers) *Shape {
	again := *s
	again.Definers = d
	return &again
}

// Redefines reports whether s is a shape that Redefined made of p, or of which both were made.
func (s *Shape) Redefines(p *Shape) bool { return s.Sums == p.Sums }

// SameDefiners reports whether clones of s and of p, which Redefines s, have their objects of the same definers.
func (s *Shape) SameDefiners(p *Shape) bool {
	return s.Definers.Open() == p.Definers.Open() && !slices.ContainsFunc(s.Objects, func(o Object) bool {
		return s.Definers.replaces(o) != p.Definers.replaces(o)
	})
}

// Borrows reports whether sessions of a clone run anything by the rights of somebody else who may not switch the log off:
// the definer of an object of the clone, or of another database.
func (s *Shape) Borrows() bool {
	return s.reaches || slices.ContainsFunc(s.Objects, func(o Object) bool {
		_, foreign := s.Definers.foreign(o)
		return foreign && !s.Definers.replaces(o)
	})
}

// Reaches reports whether a procedure or event names another database.
func (s *Shape) Reaches() bool { return s.reaches }

// stand is the statement that makes o, create, with the definer that clones have.
func (d Definers) stand(o Object, create string) string {
	if !d.replaces(o) {
		return create
	}
	from, to := definerIn(create)
	quote := create[from : from+1] // as the server writes it, by which clones are compared
	return create[:from] + inQuotes(d.StandIn.User, quote) + "@" + inQuotes("localhost", quote) + create[to:]
}

// definerNotes says which objects have another definer in clones.
func (s *Shape) definerNotes() (list []string) {
	of := map[string][]string{}
	for _, o := range s.Objects {
		if s.Definers.replaces(o) {
			from, to := definerIn(o.Create)
			definer := strings.ReplaceAll(o.Create[from:to], o.Create[from:from+1], "")
			of[definer] = append(of[definer], strings.ToLower(o.Kind)+" "+o.Name)
		}
	}
	for definer, names := range of {
		list = append(list, fmt.Sprintf("clones have %s of the definer %s@localhost: %s may switch the binary log off, by which resets know what changed", some(names), s.Definers.StandIn.User, definer))
	}
	slices.Sort(list)
	if d := s.Definers; d.Open() {
		list = append(list, "the application's account may switch the binary log off, by which resets know what changed: each reset makes the whole database again\n"+
			"hint: ramaria sql -e 'SHOW GRANTS' as an administrator, and REVOKE it from "+d.StandIn.User+", or from PUBLIC")
	}
	return list
}

// some lists things, but not more than people read.
func some(names []string) string {
	const most = 5
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}
