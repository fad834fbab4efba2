package fit

import (
	"slices"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// definer has a statement name the definer that it is to have: with Mine it gets ours, and where we load by another account, so
// does one that names none.
func (f *Fit) definer(e *edits, meant []byte, from int) {
	c, ok := readDefined(meant[from:])
	if !ok {
		return
	}
	c.behind += from
	if c.clause.to > 0 {
		c.clause.from, c.clause.to, c.account = c.clause.from+from, c.clause.to+from, c.account+from
	}
	ours := ""
	if f.owner != "" {
		ours = "DEFINER=" + f.owner
	}
	switch {
	case c.clause.to > 0 && f.Definers == Mine:
		c.clause.by = ours
		f.notes.add(ofDefiners, string(meant[c.account:c.clause.to]))
		*e = append(*e, c.clause)
	case c.clause.to > 0 && c.current && ours != "": // who loads is not who will use it
		c.clause.by = ours
		*e = append(*e, c.clause)
	case c.clause.to > 0 && c.user != "":
		f.count(c.user, c.host)
	case c.clause.to == 0 && ours != "":
		*e = append(*e, edit{c.behind, c.behind, " " + ours})
	}
}

// defined is a CREATE of what has a definer.
type defined struct {
	clause edit // DEFINER = ..., if it is there
	// account is where its account begins, which is that of user and host, empty for CURRENT_USER and a role.
	account    int
	user, host string
	// current says that the account is CURRENT_USER.
	current bool
	behind  int // where it may be put in
}

// behindDrops returns where the first statement begins that is no DROP, 0 if there is none.
func behindDrops(meant []byte) int {
	w := dump.NewWalk(meant)
	for {
		for tok := w.Next(); !tok.Symbol(';'); tok = w.Next() {
			if tok.End() {
				return 0
			}
		}
		if next := w.Peek(); !next.Is("drop") {
			return next.From
		}
	}
}

// readDefined reads the beginning of a CREATE; it returns false for one of what has no definer.
func readDefined(meant []byte) (c defined, ok bool) {
	w := dump.NewWalk(meant)
	c.behind = w.Next().To // CREATE
	for {
		tok := w.Next()
		switch {
		case isDefined(tok):
			return c, !tok.Is("function") || !loadable(w)
		case tok.Is("replace"):
			c.behind = tok.To
		case tok.Is("algorithm"):
			w.Next()
			c.behind = w.Next().To
		case tok.Is("definer") && w.Peek().Symbol('='):
			w.Next()
			c.readAccount(tok.From, w)
		case !slices.ContainsFunc([]string{"or", "aggregate", "sql", "security", "definer", "invoker"}, tok.Is):
			return c, false
		}
	}
}

// readAccount reads the account of a definer whose clause begins at from.
func (c *defined) readAccount(from int, w *dump.Walk) {
	account := w.Next()
	c.account, c.clause, c.current = account.From, edit{from: from, to: account.To}, account.Is("current_user")
	switch {
	case w.Peek().Symbol('@'):
		w.Next()
		host := w.Next()
		c.user, c.host, c.clause.to = account.Name(), host.Name(), host.To
	case w.Peek().Symbol('('): // of CURRENT_USER
		w.Next()
		c.clause.to = w.Next().To
	}
}

// loadable says that what stands behind CREATE FUNCTION is one of a library, which has no definer.
func loadable(w *dump.Walk) bool {
	w.Next() // its name
	for tok := w.Next(); !tok.End() && !tok.Symbol('('); tok = w.Next() {
		if tok.Is("soname") {
			return true
		}
	}
	return false
}

// count notes that the dump has something with this definer.
func (f *Fit) count(user, host string) {
	for i := range f.definers {
		if d := &f.definers[i]; d.User == user && d.Host == host {
			d.Count++
			return
		}
	}
	f.definers = append(f.definers, Definer{user, host, 1})
}

// Named are the accounts that the dump names as definers, as far as they stay that.
func (f *Fit) Named() []Definer { return f.definers }

// isDefined says that what is made has a definer.
func isDefined(tok dump.Token) bool {
	return slices.ContainsFunc([]string{"view", "trigger", "procedure", "function", "event", "package"}, tok.Is)
}
