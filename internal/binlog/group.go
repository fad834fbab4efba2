package binlog

import (
	"bytes"
	"errors"
	"slices"
	"time"
)

// Flags of MariaDB's GTID event: Gtid_log_event,
// https://github.com/MariaDB/server/blob/11.8/sql/log_event.h
const (
	flagStandalone    = 0x01
	flagTransactional = 0x04
	flagPreparedXA    = 0x40
)

// follow finds out what an event is to the group that it stands in.
func (s *scan) follow(e *Event) error {
	switch e.Type {
	case StartEncryptionEvent, IncidentEvent:
		return &NotUnderstoodError{s.pos(), e.Type}
	case FormatDescriptionEvent, PreviousGTIDsEvent, GTIDListEvent, BinlogCheckpointEvent, RotateEvent, StopEvent:
		if s.relay {
			return s.another(e)
		}
		return s.control(e)
	case MariaGTIDEvent, GTIDEvent, AnonymousGTIDEvent, TaggedGTIDEvent:
		return s.begin(e)
	}
	if s.progress == between {
		if e.Skippable() {
			return nil
		}
		if !e.Type.inGroup() {
			return &NotUnderstoodError{s.pos(), e.Type}
		}
		s.open(undecided) // of a server that gives groups no number
	}
	ends, err := s.within(e)
	if err != nil || !ends {
		return err
	}
	return s.end(e)
}

// another takes in what stands between the events of another server in a relay log.
func (s *scan) another(e *Event) error {
	if e.Type != FormatDescriptionEvent || s.at == int64(len(magic)) {
		return nil
	}
	whole, err := s.bytes(e.Length)
	if err != nil {
		return err
	}
	f, err := ParseFormat(whole)
	if err != nil {
		return located(err, s.pos())
	}
	s.l.format = f
	return nil
}

// control is what stands between groups.
func (s *scan) control(e *Event) error {
	if s.progress != between {
		return s.corrupt(e.Type.String()+" event", "it stands in a transaction")
	}
	switch e.Type {
	case FormatDescriptionEvent:
		if s.at != int64(len(magic)) {
			return s.corrupt(e.Type.String()+" event", "it is not the first")
		}
	case GTIDListEvent:
		return s.ext.GTIDs.list(e)
	case PreviousGTIDsEvent: // without which no server takes GTIDs from a relay log
		b, err := s.bytes(e.Length)
		s.previous = slices.Clone(b)
		return err
	case RotateEvent, StopEvent:
		s.ext.Ended, s.ext.Stopped = true, e.Type == StopEvent
	}
	return nil
}

func (s *scan) open(p progress) {
	s.progress, s.group, s.committed = p, Group{Start: s.at, File: s.l.name}, time.Time{}
}

// begin opens a group by the event that numbers it.
func (s *scan) begin(e *Event) error {
	if s.progress != between && !s.relay {
		return s.corrupt(e.Type.String()+" event", "a transaction begins within another, which began at %d", s.group.Start)
	}
	if e.Type != MariaGTIDEvent {
		s.open(undecided)
		s.committed = commitTime(e)
		s.group.plain, s.group.rows, s.group.clock = true, s.at+e.Length, clockOf(e)
		s.group.numbered = e.Type != AnonymousGTIDEvent
		return nil
	}
	gtid, flags, err := parseMariaGTID(e)
	if err != nil {
		return err
	}
	s.open(inside)
	s.group.GTID = gtid
	s.group.plain, s.group.rows = flags&flagTransactional != 0, s.at+e.Length
	if flags&flagStandalone != 0 {
		s.progress = alone
	}
	if flags&flagPreparedXA != 0 {
		s.group.Kind = Prepared
	}
	return nil
}

// commitTime reads immediate_commit_timestamp of MySQL 8; zero where there is none. Of a tagged
// GTID it is not read.
// https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Gtid__event.html
func commitTime(e *Event) time.Time {
	const at, width = 1 + 16 + 8 + 1 + 8 + 8, 7
	if e.Type == TaggedGTIDEvent || len(e.Body) < at+width || e.Body[25] != 2 {
		return time.Time{}
	}
	r := reader{b: e.Body[at:]}
	const original = 1 << 55 // another time follows: when the first server committed it
	return time.UnixMicro(int64(r.uint(width) &^ original))
}

// within reports whether the event is the last of its group.
func (s *scan) within(e *Event) (ends bool, err error) {
	if s.events != nil {
		if err := s.events(e); err != nil {
			return false, err
		}
	}
	switch e.Type {
	case XIDEvent:
		s.group.xid = s.at
		s.group.plain = s.group.plain && s.progress == inside
		return true, nil
	case TransactionPayloadEvent:
		s.group.plain = false
		return true, nil
	case XAPrepareEvent:
		s.group.Kind, s.group.plain = Prepared, false
		if len(e.Body) > 0 && e.Body[0] != 0 {
			s.group.Kind = Transaction // one phase
		}
		return true, s.prepares(e)
	case QueryEvent:
		ends, err := s.query(e)
		s.group.plain = s.group.plain && s.group.rows == s.at+e.Length
		return ends, err
	case QueryCompressedEvent, ExecuteLoadQueryEvent:
		s.group.plain = false
		return s.progress != inside && s.statement(), nil
	}
	if s.progress == undecided && (e.Type == TableMapEvent || e.Type.Rows() != NotRows) {
		s.progress = inside
	}
	s.group.plain = s.group.plain && s.progress == inside && e.isPlain()
	return false, nil
}

// statement notes that the group is one.
func (s *scan) statement() bool {
	s.group.Kind = Statement
	return true
}

// query is a statement that was logged as text.
func (s *scan) query(e *Event) (ends bool, err error) {
	if s.progress == alone {
		return s.single(e)
	}
	text, err := queryText(e)
	if err != nil {
		return false, err
	}
	if s.progress == undecided {
		if isWord(text, "BEGIN") || begins(text, "XA START") {
			if s.at == s.group.rows {
				s.group.rows += e.Length
				s.session = sessionOf(e, s.session)
				s.group.session = s.session
			}
			s.progress = inside
			return false, nil
		}
		return s.single(e)
	}
	return isWord(text, "COMMIT") || begins(text, "ROLLBACK") && !begins(text, "ROLLBACK TO"), nil
}

// single notes that the group is one statement.
func (s *scan) single(e *Event) (ends bool, err error) {
	if s.statements != nil {
		err = s.statements(e)
	}
	return s.statement(), errors.Join(err, s.verdict(e))
}

// end notes a group whose last event is e.
func (s *scan) end(e *Event) error {
	s.group.End = s.at + e.Length
	if s.group.Time = s.committed; s.committed.IsZero() {
		s.group.Time = time.Unix(int64(e.Timestamp), 0)
	}
	if s.each != nil {
		if err := s.each(s.group); err != nil {
			s.progress = between
			return err
		}
	}
	if s.ext.Groups == 0 {
		s.ext.First = s.group.Time
	}
	s.ext.Groups, s.ext.Last = s.ext.Groups+1, s.group.Time
	s.ext.GTIDs.Add(s.group.GTID)
	s.progress = between
	return nil
}

// inGroup reports whether such an event can be part of a group, as far as kinds are known.
func (t EventType) inGroup() bool {
	_, known := typeNames[t]
	return known && t != HeartbeatEvent && t != HeartbeatV2Event && t != 1 && t != 7
}

// queryText returns the statement of a QUERY event, or what is there of it.
func queryText(e *Event) ([]byte, error) {
	const what, least = "QUERY event", queryPostLen
	post := e.Format.postHeader(QueryEvent, queryPostLen)
	b := e.Body
	if post < least || len(b) < post {
		return nil, &CorruptError{e.Pos(), what, "it is too short"}
	}
	at := post + int(le.Uint16(b[11:])) + int(b[8]) + 1
	if len(b) < at {
		return nil, &CorruptError{e.Pos(), what, "it is too short"}
	}
	return b[at:], nil
}

// isWord reports whether a statement is that word, in any case.
func isWord(text []byte, word string) bool { return len(text) == len(word) && begins(text, word) }

func begins(text []byte, words string) bool {
	return len(text) >= len(words) && bytes.EqualFold(text[:len(words)], []byte(words))
}
