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

// SetDefiners says who defines the objects of clones, as it was when reset.Journal.Rights said rights.
func (s *Shape) SetDefiners(d Definers, rights int) {
	s.Definers, s.rights = d, rights
	s.borrows = slices.ContainsFunc(s.Objects, func(o Object) bool {
		_, foreign := d.foreign(o)
		return foreign && !d.replaces(o)
	})
}

// Outdated reports whether a definer of what clones have may have got a right since, by which it switches the binary log
// off. rights is reset.Journal.Rights.
func (s *Shape) Outdated(rights func() int) bool { return s.borrows && s.rights != rights() }

// Redefined is a shape like s, for SetDefiners.
func (s *Shape) Redefined() *Shape {
	return &Shape{
		Name: s.Name, Charset: s.Charset, Collation: s.Collation, Options: s.Options, Folds: s.Folds, Tables: s.Tables, Objects: s.Objects, Keys: s.Keys,
		Files: s.Files, Paused: s.Paused, elsewhere: s.elsewhere, others: s.others, made: s.made,
	}
}

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
	if d := s.Definers; d.Everybody || d.Blinding[d.StandIn.User] {
		list = append(list, "the application's account may switch the binary log off, by which resets know what changed\nhint: ramaria sql -e 'SHOW GRANTS' as an administrator, and REVOKE it from "+d.StandIn.User+", or from PUBLIC")
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
