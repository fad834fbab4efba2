package front

import (
	"bytes"
	"regexp"
)

// setUp is what of a session belongs to the client, and not to what it works on: drivers turn autocommit off right after
// the login, as the standards of their languages want it, and go on as if it stayed so.
//
// So what a client says of that before its first statement of another kind is part of its login. Character set and
// database it has said in the login itself.
type setUp struct {
	over       bool
	autocommit string // "" where the client has not said it
}

var (
	setStatement  = regexp.MustCompile(`(?i)^[\x00\x01\s]*(?:set\b|select\s+@@|show\s+(?:session\s+)?variables\b)`)
	setAutocommit = regexp.MustCompile(`(?i)\bautocommit\b["` + "`" + `]?\s*:?=\s*(0|1|on|off|true|false)\b`)
)

// see looks at a command.
func (s *setUp) see(command byte, payload []byte) {
	if s.over {
		return
	}
	if command != comQuery || !setStatement.Match(payload[1:]) {
		s.over = command == comQuery || command == comPrepare
		return
	}
	if m := setAutocommit.FindSubmatch(payload[1:]); m != nil {
		s.autocommit = string(bytes.ToLower(m[1]))
	}
}
