package dump

// EventState is whether an event fires.
type EventState string

// The states of events; "" is that a statement does not say.
const (
	EventEnabled         EventState = "ENABLE"
	EventDisabled        EventState = "DISABLE"
	EventReplicaDisabled EventState = "DISABLE ON SLAVE"
)

// EventAction is what a statement does to an event.
type EventAction uint8

// What statements do to events.
const (
	CreateEvent EventAction = iota
	AlterEvent
	DropEvent
	// DropEvents drops all of a database, with the database.
	DropEvents
)

// EventChange is what a statement does to an event, as far as its state goes.
type EventChange struct {
	Action EventAction
	// Event is its name; of DropEvents, the database.
	Event TableName
	// IfMissing says that the statement does nothing if the event is there (CREATE ... IF NOT EXISTS).
	IfMissing bool
	// To is the new name, zero if it keeps the one that it has.
	To    TableName
	State EventState
}

// ParseEvent reads a statement about an event, or that drops a database. It returns false for all others, and
// for those that it does not understand.
func ParseEvent(text []byte) (EventChange, bool) {
	t := tokens{b: text}
	first := t.next()
	var c EventChange
	switch {
	case first.is("create"):
	case first.is("alter"):
		c.Action = AlterEvent
	case first.is("drop"):
		return parseDropEvent(&t)
	default:
		return EventChange{}, false
	}
	tok, ok := definer(&t)
	if !ok || !tok.is("event") {
		return EventChange{}, false
	}
	tok = t.next()
	if c.Action == CreateEvent && tok.is("if") {
		c.IfMissing = t.next().is("not") && t.next().is("exists")
		tok = t.next()
	}
	if c.Event, tok = qualified(tok, &t); c.Event.Name == "" {
		return EventChange{}, false
	}
	ok = c.clauses(tok, &t)
	return c, ok
}

// definer reads OR REPLACE and DEFINER, if they stand there, and returns the token behind them.
func definer(t *tokens) (tok token, ok bool) {
	tok = t.next()
	if tok.is("or") {
		if !t.next().is("replace") {
			return tok, false
		}
		tok = t.next()
	}
	if !tok.is("definer") {
		return tok, true
	}
	if !t.next().symbol('=') || !t.next().isName() {
		return tok, false
	}
	tok = t.next()
	switch {
	case tok.symbol('('): // of CURRENT_USER
		ok = t.next().symbol(')')
	case tok.symbol('@'):
		ok = t.next().isName()
	default:
		return tok, true
	}
	return t.next(), ok
}

// clauses reads up to the event's body.
func (c *EventChange) clauses(tok token, t *tokens) bool {
	for ; tok.kind != tokenEnd && !tok.is("do") && !tok.is("comment"); tok = t.next() {
		switch {
		case tok.is("rename"):
			if !t.next().is("to") {
				return false
			}
			c.To, tok = qualified(t.next(), t)
			return c.To.Name != "" && c.clauses(tok, t)
		case tok.is("enable"):
			c.State = EventEnabled
		case tok.is("disable"):
			c.State = EventDisabled
			if tok = t.next(); tok.is("on") {
				c.State = EventReplicaDisabled
				continue // SLAVE or REPLICA
			}
			return c.clauses(tok, t)
		}
	}
	return true
}

func parseDropEvent(t *tokens) (EventChange, bool) {
	c := EventChange{Action: DropEvent}
	what := t.next()
	tok := t.next()
	if tok.is("if") && t.next().is("exists") {
		tok = t.next()
	}
	switch {
	case what.is("event"):
		c.Event, _ = qualified(tok, t)
	case (what.is("database") || what.is("schema")) && tok.isName():
		c.Action, c.Event.Database = DropEvents, tok.name()
	}
	return c, c.Event != TableName{}
}

// qualified reads a name that begins with tok, and may have that of a database before it, and returns the
// token behind it.
func qualified(tok token, t *tokens) (n TableName, next token) {
	if !tok.isName() {
		return n, tok
	}
	n.Name = tok.name()
	if next = t.next(); !next.symbol('.') {
		return n, next
	}
	if tok = t.next(); !tok.isName() {
		return TableName{}, tok
	}
	return TableName{n.Name, tok.name()}, t.next()
}
