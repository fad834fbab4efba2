package load

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/fit"
)

// yield has a session take what it can of a SET that it has refused, and returns what it took. Where the fault
// stands, it returns the error.
func (l *loader) yield(ctx context.Context, s *session, set setting, fault error) ([]string, error) {
	if set.last || strings.Contains(set.text, "/*") || !strings.EqualFold(dump.FirstWord([]byte(set.text)), "set") {
		return nil, fault
	}
	var taken []string
	for _, one := range fit.Split([]byte(set.text)) {
		learned := false
		for one != nil {
			err := s.exec(ctx, string(one))
			if err == nil {
				taken = append(taken, string(one))
				break
			}
			said, ok := dbconn.RefusalOf(err)
			switch {
			case ok && said.Code == errUnknownZone && !learned:
				learned, ok = true, l.learnZone(ctx, said)
			case ok:
				one, ok = l.fit.Yield(one, said)
			}
			if !ok {
				return nil, err
			}
		}
	}
	return taken, nil
}

// again has another session take the place of the reader's own, which was told several settings at once and refused one
// of those from a number on: the answer does not say which. The new one is told them one by one, and takes what it can.
func (l *loader) again(ctx context.Context, from int, fault error) error {
	first := l.sets[from]
	if _, said := dbconn.RefusalOf(fault); !said {
		return l.refused(fault, first.line, []byte(first.text))
	}
	s, err := l.connect(ctx, l.database)
	if err != nil {
		return err
	}
	var told []setting
	for i, set := range l.sets {
		rest := []string{set.text}
		if err := s.exec(ctx, set.text); err != nil {
			if i >= from {
				rest, err = l.yield(ctx, s, set, err)
			}
			if err != nil {
				s.conn.Close()
				return l.refused(err, set.line, []byte(set.text))
			}
		}
		for _, text := range rest {
			told = append(told, setting{text: text, line: set.line, last: set.last})
		}
	}
	l.primary.conn.Close()
	l.primary, l.sets = s, told
	s.told = len(told)
	return l.know(ctx)
}

// KnowsCollation asks the server for a collation.
func (l *loader) KnowsCollation(ctx context.Context, name string) (bool, error) {
	charset, _, _ := strings.Cut(name, "_")
	if charset == "uca1400" { // of any character set
		charset = "utf8mb4"
	}
	var text sql.NullString
	err := l.db.QueryRowContext(ctx, "SELECT CONVERT('' USING "+charset+") COLLATE "+name).Scan(&text)
	if said, ok := dbconn.RefusalOf(err); ok {
		const otherCharset = 1253 // it is one, of another character set
		return said.Code == otherCharset, nil
	}
	if err != nil {
		return false, fmt.Errorf("load %s: ask for collation %s: %w", l.name, name, err)
	}
	return true, nil
}

// tell says what was left out and changed, and which definers are no accounts.
func (l *loader) tell(ctx context.Context, say func(format string, args ...any), sum dump.Summary) {
	if say == nil {
		return
	}
	if len(sum.Notices) > 0 {
		say("note: %s has lines that its dumper said, which are no SQL and were left out: %s", l.name, strings.Join(sum.Notices, " | "))
	}
	for _, line := range l.fit.Notes(l.name) {
		say("note: %s", line)
	}
	missing := l.strangers(context.WithoutCancel(ctx))
	if len(missing) > 0 {
		say("note: %s has views, routines, triggers or events of accounts that are not here, so that they cannot be used: %s\nhint: --definers mine makes them yours; CREATE USER ... ACCOUNT LOCK, with the rights that they need, keeps their definer", l.name, strings.Join(missing, ", "))
	}
}

// strangers are the definers that the dump names and that are no accounts; none if that cannot be told.
func (l *loader) strangers(ctx context.Context) []string {
	named := l.fit.Named()
	if len(named) == 0 {
		return nil
	}
	there := map[[2]string]bool{}
	if err := dbconn.Query(ctx, l.db, l.users, func(row []string) error {
		there[[2]string{row[0], strings.ToLower(row[1])}] = true
		return nil
	}); err != nil {
		return nil
	}
	var missing []string
	for _, d := range named {
		if !there[[2]string{d.User, strings.ToLower(d.Host)}] {
			missing = append(missing, fmt.Sprintf("%s@%s (%d)", d.User, d.Host, d.Count))
		}
	}
	slices.Sort(missing)
	return missing
}
