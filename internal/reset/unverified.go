package reset

import "maps"

// Proven reads the log to its end and returns what has certainly changed in a database; "" if
// nothing has, or nothing is certain.
func (j *Journal) Proven(name string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	if c := j.watched[name]; c != nil {
		return c.certain()
	}
	return notWatched
}

// moment tells what was known of a database when unverified was called from what is known now.
type moment struct {
	of      *Changes
	version int
}

// unverified returns, after reading the log to its end, what may have happened to a database, nil for
// nothing, and the moment for settle and differs.
func (j *Journal) unverified(name string) (*Changes, moment) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	c := j.watched[name]
	if c == nil || c.changed() == "" {
		return nil, moment{}
	}
	// Events come in meanwhile.
	return &Changes{Statements: c.Statements, Touched: maps.Clone(c.Touched), Tables: maps.Clone(c.Tables), Incomplete: c.Incomplete}, moment{of: c, version: c.version}
}

// settle says that a database was found to be as it was, unless more has happened since that
// moment: then it returns false.
func (j *Journal) settle(name string, at moment) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	c := j.watched[name]
	if c == nil || c != at.of || c.version != at.version {
		return false
	}
	j.watched[name] = &Changes{version: at.version, since: c.since}
	return true
}

// differs says what of a database was found to be different at that moment, unless more has happened
// since: a table that a test makes and drops again was there for a moment only, and what was taken for a
// template since then is another one (Watch began again).
func (j *Journal) differs(name string, at moment, what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	if c := j.watched[name]; c != nil && c == at.of && c.version == at.version {
		c.found = what
	}
}
