package load

import (
	"context"
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// setting is a statement about the session, and where it stands in the dump.
type setting struct {
	text string
	line int
	// last says that no delimiter ends it, so that it may be part of one.
	last bool
}

// joins says that a setting can go to the server in one text with others: it is known where it ends, whatever the others
// changed.
func (s setting) joins() bool {
	text := strings.TrimSpace(s.text)
	return len(text) > 4 && strings.EqualFold(text[:4], "SET ") && isPlain(text)
}

// isPlain says that a text is read the same in every character set and SQL mode, and has no
// comment.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= 0x80 || c == '\\' || c == ';' || c == '#' {
			return false
		}
	}
	return !strings.Contains(text, "--") && !strings.Contains(text, "/*") && !strings.Contains(text, "*/")
}

// maxJoined bounds what goes to the server in one text, in bytes.
const maxJoined = 64 << 10

// untold returns the texts that tell the session what it has not been told yet, and then another
// text, in as few round trips as may be.
func (s *session) untold(sets []setting, further string) []string {
	var texts []string
	open := false // the last one can be added to
	add := func(text string, joins bool) {
		if last := len(texts) - 1; open && joins && len(texts[last])+len(text) < maxJoined {
			texts[last] += ";\n" + text
		} else {
			texts = append(texts, text)
		}
		open = joins
	}
	for _, set := range sets[s.told:] {
		add(set.text, set.joins())
	}
	add(further, true)
	s.told = len(sets)
	return texts
}

// follow carries out what other sessions were told meanwhile. Bulk says that what comes fills an
// empty table, which no other does.
func (s *session) follow(ctx context.Context, sets []setting, database string, bulk bool) error {
	if database != "" && s.database != database {
		if err := s.exec(ctx, "USE "+dbconn.QuoteName(database)); err != nil {
			return err
		}
		s.database = database
	}
	if s.told == len(sets) && s.bulk == bulk {
		return nil
	}
	s.bulk = bulk
	// MariaDB makes the pages of an empty table in one go, with less than half the work, if this
	// is off. Sessions that share one out would lock it against each other then, and end in a
	// deadlock. https://jira.mariadb.org/browse/MDEV-515
	checks := "SET unique_checks = 1"
	if bulk {
		checks = "SET unique_checks = 0"
	}
	for _, text := range s.untold(sets, checks) {
		if err := s.exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// settle tells the reader's own session what it has not been told yet: something else comes.
func (l *loader) settle(ctx context.Context) error {
	if l.primary.told == len(l.sets) {
		return nil
	}
	return l.know(ctx)
}

// know asks for the facts of the reader's own session, as it is when it has been told everything.
func (l *loader) know(ctx context.Context) error {
	if l.known {
		return nil
	}
	told := l.primary.told
	texts := l.primary.untold(l.sets, "SELECT @@character_set_client, @@character_set_connection, @@sql_mode, @@foreign_key_checks")
	last := len(texts) - 1
	for _, text := range texts[:last] {
		if err := l.primary.exec(ctx, text); err != nil {
			return l.again(ctx, told, err)
		}
	}
	var f facts
	if err := l.primary.conn.QueryRowContext(ctx, texts[last]).Scan(&f.client, &f.connection, &f.mode, &f.foreignKeyChecks); err != nil {
		if told < len(l.sets) {
			return l.again(ctx, told, err)
		}
		return fmt.Errorf("load %s: ask for the session's settings: %w", l.name, err)
	}
	l.facts, l.known = f, true
	return nil
}
