package rewind

import "maps"

// Proven reports, after reading the log to its end, what of a database has changed without a
// doubt; "" if nothing has, or nobody can tell yet.
func (j *Journal) Proven(name string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	if c := j.watched[name]; c != nil {
		return c.Proven
	}
	return notWatched
}

// doubts returns, after reading the log to its end, what may have happened to a database, nil for
// nothing, and a number by which settle tells whether more has happened since.
func (j *Journal) doubts(name string) (*Changes, int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	c := j.watched[name]
	if c == nil || c.changed() == "" {
		return nil, 0
	}
	// Events come in meanwhile.
	return &Changes{Statements: c.Statements, Touched: maps.Clone(c.Touched), Tables: maps.Clone(c.Tables), Unsure: c.Unsure}, c.version
}

// settle says that a database was found to be as it was, unless more has happened since doubts
// returned that number: then it returns false.
func (j *Journal) settle(name string, version int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	c := j.watched[name]
	if c == nil || c.version != version {
		return false
	}
	j.watched[name] = &Changes{version: version}
	return true
}

// prove says what of a database was found to have changed.
func (j *Journal) prove(name, what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c := j.watched[name]; c != nil {
		c.proven(what)
	}
}
