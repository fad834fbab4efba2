package front

import (
	"regexp"
	"strings"
)

// setUp is what of a session belongs to the client, and not to what it works on: drivers and frameworks set a time zone
// or a mode right after the login, or turn autocommit off, as the standards of their languages want it, and go on as if it
// stayed so.
//
// So what a client sets before its first statement of another kind is part of its login. Character set and database it
// has said in the login itself.
type setUp struct {
	over  bool
	texts []string
	bytes int // of all texts
	// autocommit says that one of them is about it: that may be a driver that begins the first transaction.
	autocommit bool
}

// mostSetUp bounds what is kept of a client's set-up, in bytes.
const mostSetUp = 4 << 10

var (
	setStatement = regexp.MustCompile(`(?i)^set\b`)
	// setOnce finds what no client sets for good: for one statement or transaction, for others, what tests set around
	// rows that refer to each other, and variables of their own.
	setOnce = regexp.MustCompile("(?i)^set\\s+(?:statement|password|role|default|resource|transaction|global|persist|persist_only)\\b" +
		"|(?:^|[^@\\w`])@[^@]" +
		`|\b(?:foreign_key_checks|unique_checks|check_constraint_checks|timestamp|insert_id|last_insert_id|rand_seed[12])\b`)
	// setForNow finds what drivers set for the statement that follows, and set back behind it: the rows that one may return,
	// and a transaction that only reads.
	setForNow = regexp.MustCompile(`(?i)^set\s+(?:session\s+|local\s+|@@(?:session\.|local\.)?)?` +
		`(?:(?:sql_select_limit|transaction_read_only|tx_read_only)\s*:?=[^,]*|transaction\s+read\s+(?:only|write))$`)
	setAutocommit = regexp.MustCompile(`(?i)\bautocommit\b`)
	// askStatement and askSelect find what drivers ask before they set something, or between that.
	askStatement = regexp.MustCompile(`(?i)^(?:show|use|commit|rollback)\b`)
	askSelect    = regexp.MustCompile(`(?i)^select\b`)
	ofTables     = regexp.MustCompile(`(?i)\b(?:from|into)\b`)
)

// see looks at a command with a text. What is prepared is taken for done: only frameworks prepare that.
func (s *setUp) see(command byte, text string) {
	s.over = s.over || asks(text) // what follows a reset is of a test
	for rest := text; rest != "" && !s.over; {
		var statement string
		statement, rest = first(rest)
		_, statement = comments(statement)
		statement = strings.TrimSpace(statement)
		switch {
		case statement == "", setForNow.MatchString(statement), askStatement.MatchString(statement), askSelect.MatchString(statement) && !ofTables.MatchString(statement):
		case !setStatement.MatchString(statement), setOnce.MatchString(statement), s.bytes+len(statement) > mostSetUp,
			command == comPrepare && strings.Contains(statement, "?"):
			s.over = true
		default:
			s.texts = append(s.texts, statement)
			s.bytes += len(statement)
			s.autocommit = s.autocommit || setAutocommit.MatchString(statement)
		}
	}
}
