package repeatable

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// Defined is a procedure, a package or an event: what can call a procedure that switches the log off. Within a function or a
// trigger servers refuse that.
type Defined struct {
	// Name is without Schema: what calls it may lie anywhere.
	Schema, Name, Definer string
	// Mighty says that the definer has powers, and Invoker that it runs by the rights of who calls it.
	Mighty, Invoker bool
	// Body is what it does; of a statement all of it will do. Unknown says that it may do anything.
	Body    string
	Unknown bool
}

// Routines knows what calls what by the rights of somebody who has powers: a body that says nothing of the log may call one
// that does, which has the rights of its caller. It goes by words: a body that has the name of another one may call it, so
// that it finds more than there is, never less. Several goroutines may use it.
type Routines struct {
	mu sync.Mutex
	// all are those that run by the rights of somebody who has powers, or of who calls them, and logged these of them that
	// statements made.
	all, logged []*routine
	// told are the names of those that were found, or known from the beginning.
	told map[string]bool
}

// routine is a Defined as far as it counts.
type routine struct {
	Defined
	// blinds says that it may switch the log off, itself or by what it calls, by the rights that it runs by.
	blinds bool
	// words are those of a body that calls anything, words of its name those by which it is called.
	words map[string]bool
	name  []string
}

// calling finds what may call anything: CALL, or any name in sql_mode ORACLE, whose bodies have no other word in common than
// that they end what they begin.
var (
	calling  = regexp.MustCompile(`(?i)\b(?:call|begin)\b`)
	wordOnly = regexp.MustCompile(`[\w$\x80-\x{10ffff}]+`)
	security = regexp.MustCompile(`(?is)\bsecurity\b.{1,200}?\b(invoker|definer)\b|\bauthid\b.{1,200}?\b(current_user|definer)\b`)
)

func newRoutine(d Defined) *routine {
	r := &routine{Defined: d, blinds: d.Unknown || Blinds(d.Body), name: wordOnly.FindAllString(strings.ToLower(d.Name), -1)}
	if calling.MatchString(d.Body) {
		r.words = map[string]bool{}
		for _, w := range wordOnly.FindAllString(strings.ToLower(d.Body), -1) {
			r.words[w] = true
		}
	}
	r.Body = ""
	return r
}

// calls reports whether r may call another one.
func (r *routine) calls(other *routine) bool {
	return !slices.ContainsFunc(other.name, func(w string) bool { return !r.words[w] })
}

// Begin says what there is when the log begins to be followed. It returns those that may switch the log off, which nobody
// needs to be told of again, and of what the log had before, whether it has become so by that.
func (l *Routines) Begin(list []Defined) (blinding []Defined, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all, l.told = nil, map[string]bool{}
	for _, d := range list {
		if !slices.ContainsFunc(l.logged, func(r *routine) bool { return strings.EqualFold(r.Name, d.Name) }) {
			l.add(newRoutine(d), func(r *routine) {
				l.told[strings.ToLower(r.Name)] = true
				blinding = append(blinding, r.Defined)
			})
		}
	}
	for _, r := range l.logged {
		l.add(r, func(r *routine) { why = cmp.Or(l.tell(r), why) })
	}
	return blinding, why
}

// tell says that one may switch the log off, "" if somebody was told of that.
func (l *Routines) tell(r *routine) string {
	name := strings.ToLower(r.Name)
	if l.told[name] {
		return ""
	}
	if l.told == nil {
		l.told = map[string]bool{}
	}
	l.told[name] = true
	return "what " + r.Definer + " defines may call what switches it off: " + r.Name
}

// add takes in one that runs by such rights, or by its caller's, and calls found for those of a definer who has powers that may
// switch the log off with it, or by it.
func (l *Routines) add(r *routine, found func(*routine)) {
	if !r.Mighty && !r.Invoker {
		return
	}
	l.all = append(l.all, r)
	if !r.blinds && !slices.ContainsFunc(l.all, func(other *routine) bool { return other.blinds && r.calls(other) }) {
		return
	}
	r.blinds = true
	for queue := []*routine{r}; len(queue) > 0; queue = queue[1:] {
		if queue[0].Mighty && !queue[0].Invoker {
			found(queue[0])
		}
		for _, other := range l.all {
			if !other.blinds && other.calls(queue[0]) {
				other.blinds = true
				queue = append(queue, other)
			}
		}
	}
}

// ByQuery says what of the powers a statement may give that makes a routine or an event, by what that calls, or by what calls
// it; "" for none. What it makes by itself Powers.ByQuery says.
func (l *Routines) ByQuery(p Powers, q *binlog.Query, mysql bool) (why string) {
	if bracket(q.SQL) {
		return ""
	}
	s := statement{query: q, parser: newParser(q, mysql)}
	s.inner()
	made := s.is("create")
	if !s.eat("create|alter") {
		return ""
	}
	s.match("or replace")
	var d Defined
	if s.eat("definer") && s.eatSymbol('=') {
		d.Definer, d.Mighty = p.account(&s.parser)
	}
	event := s.is("event")
	if !s.eat("procedure|package|event") {
		return ""
	}
	s.match("body")
	s.match("if not exists")
	t, _ := s.table(q.Schema)
	d.Schema, d.Name, d.Body = t.Schema, t.Name, string(q.SQL)
	says := security.FindSubmatch(q.SQL)
	if says != nil {
		d.Invoker = !bytes.EqualFold(bytes.Join(says[1:], nil), []byte("definer"))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case d.Definer == "" && (made || event || says == nil):
		return ""
	case d.Definer == "": // who defined it, and what it does, the statement does not say
		for _, r := range l.all {
			if strings.EqualFold(r.Name, d.Name) {
				d.Mighty, d.Definer, d.Unknown = d.Mighty || r.Mighty, r.Definer, d.Unknown || r.blinds
			}
		}
		d.Unknown = d.Unknown || d.Invoker
	case d.Mighty && !d.Invoker && Blinds(d.Body): // Powers.ByQuery says so
		l.tell(&routine{Defined: d})
	}
	r := newRoutine(d)
	l.logged = append(l.logged, r)
	l.add(r, func(r *routine) { why = cmp.Or(l.tell(r), why) })
	return why
}
