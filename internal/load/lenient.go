package load

import (
	"context"
	"errors"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// repaired sends a CREATE TABLE that was refused without what the server does not take, if --fix is given. It returns what the
// server took, or the fault that stands.
func (l *loader) repaired(ctx context.Context, text []byte, fault error) ([]byte, error) {
	var done []string
	changed, last := text, fault
	for range maxRepairs {
		said, ok := dbconn.RefusalOf(last)
		if !ok {
			return text, fault
		}
		next, of, ok := l.fit.Repair(changed, l.scanner.Meant(changed), said)
		if !ok {
			return text, fault
		}
		changed, done = next, append(done, of)
		if last = l.primary.exec(ctx, string(changed)); last != nil {
			last = l.lenient(ctx, l.primary, string(changed), last)
		}
		if last == nil {
			for _, of := range done {
				l.fit.Repaired(of)
			}
			return changed, nil
		}
	}
	return text, fault
}

// maxRepairs is how many things of a table are repaired.
const maxRepairs = 8

// lenient sends a statement that was refused once more, if --fix is given and the server can be told to take it; it
// returns the fault that stands. The session is as strict as before afterwards.
func (l *loader) lenient(ctx context.Context, s *session, text string, fault error) error {
	said, ok := dbconn.RefusalOf(fault)
	if !ok || !l.fit.Fix {
		return fault
	}
	name, value, ok := l.fit.Leniency(said)
	if !ok {
		return fault
	}
	if err := s.exec(ctx, "SET @ramaria_strict = @@"+name+", "+name+" = "+value); err != nil {
		return fault // the server does not know it, or it needs a right
	}
	err := s.exec(ctx, text)
	if back := s.exec(ctx, "SET "+name+" = @ramaria_strict"); back != nil {
		return errors.Join(fault, back)
	}
	if err != nil {
		return fault
	}
	l.fit.Relented(said)
	return nil
}
