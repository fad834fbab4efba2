package binlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Query is a QUERY event: a statement that was logged as text, such as DDL, BEGIN, XA.
type Query struct {
	// Schema is the session's default database, "" if there was none.
	Schema string
	// SQL is in the character set CharsetClient.
	SQL []byte
	// Updated are the databases that the statement changed, where the server says so
	// (MySQL); nil if it does not. Overflow says that there were too many to list.
	Updated  []string
	Overflow bool
	// ThreadID is the connection's, ErrorCode the error that the statement ended in.
	ThreadID  uint32
	ErrorCode uint16
	// Flags2, SQLMode and CharsetClient (the number of a collation) are the session's,
	// as the statement must be read with them. They are zero if the event does not say.
	Flags2        uint32
	SQLMode       uint64
	CharsetClient uint16
	// Connection and Server are the session's collation_connection and collation_server, and Time is when it began, in
	// seconds since 1970.
	Connection, Server uint16
	Time               uint32
	// Invoker is who said it, as USER@HOST, of statements of MariaDB's that keep that; else "".
	Invoker string
	// Fraction says that the event has the fraction of the second at which the statement began, so
	// that NOW(6) of it is the same again.
	Fraction bool
	// Alter says which part of an ALTER TABLE it is that MariaDB logs in two
	// (binlog_alter_two_phase).
	Alter AlterPart
	// Partial says that there were status variables of an unknown kind, so that those
	// behind them, perhaps Updated among them, were not read.
	Partial bool
}

// StatementID names a statement by its text and its default database, without saying them: texts may have secrets.
func StatementID(q *Query) string {
	sum := sha256.Sum256(append([]byte(q.Schema+"\x00"), q.SQL...))
	return hex.EncodeToString(sum[:16])
}

// AlterPart is a part of an ALTER TABLE that is logged when it begins and when it ends.
type AlterPart uint8

// Parts of an ALTER TABLE, as MariaDB's flags have them (FL_START_ALTER_E1 and so on).
const (
	WholeAlter  AlterPart = 0
	AlterStarts AlterPart = 2
	AlterEnds   AlterPart = 4
	AlterFails  AlterPart = 8
)

// Codes of status variables, Query_event::Query_event_status_vars.
const (
	qFlags2       = 0
	qSQLMode      = 1
	qCatalog      = 2
	qCharset      = 4
	qTimeZone     = 5
	qCatalogNZ    = 6
	qInvoker      = 11
	qUpdatedDBs   = 12
	qMicroseconds = 13
	qHRNow        = 128   // MariaDB: Q_HRNOW
	qGTIDFlags    = 130   // MariaDB: Q_GTID_FLAGS3
	qCollations   = 131   // MariaDB: Q_CHARACTER_SET_COLLATIONS
	alterEnds     = 4 | 8 // FL_COMMIT_ALTER_E1, FL_ROLLBACK_ALTER_E1
	tooManyDBs    = 254   // OVER_MAX_DBS_IN_EVENT_MTS
	queryPostLen  = 13
	mostStatusVar = 1 << 14
)

// statusLen are the lengths of the variables that always have the same.
var statusLen = map[byte]int{
	3: 4, 7: 2, 8: 2, 9: 8, 10: 4, 14: 0, 15: 8, 16: 1, 17: 8, 18: 2, 19: 1, 20: 1,
	129: 8,
}

// ParseQuery parses a QUERY event. Only SQL refers to the event's bytes.
func ParseQuery(e *Event) (Query, error) {
	r := reader{b: e.Body, what: "QUERY event"}
	q := Query{Time: e.Timestamp}
	q.ThreadID = uint32(r.uint(4))
	r.take(4) // seconds that it took
	schema := int(r.uint(1))
	q.ErrorCode = uint16(r.uint(2))
	status := int(r.uint(2))
	if status > mostStatusVar {
		r.fail("%d bytes of status variables", status)
	}
	r.take(e.Format.postHeader(QueryEvent, queryPostLen) - queryPostLen)
	vars := r.take(status)
	q.Schema = string(r.take(schema))
	if end := r.take(1); r.err == nil && end[0] != 0 {
		r.fail("no end of the schema's name")
	}
	q.SQL = r.b
	if r.err != nil {
		return Query{}, located(r.err, e.Pos())
	}
	q.readStatus(vars)
	return q, nil
}

// readStatus reads what it knows of the status variables, and stops at what it does not.
func (q *Query) readStatus(vars []byte) {
	r := reader{b: vars, what: "QUERY event"}
	for len(r.b) > 0 {
		switch code := byte(r.uint(1)); code {
		case qFlags2:
			q.Flags2 = uint32(r.uint(4))
		case qSQLMode:
			q.SQLMode = r.uint(8)
		case qCharset:
			q.CharsetClient, q.Connection, q.Server = uint16(r.uint(2)), uint16(r.uint(2)), uint16(r.uint(2))
		case qCatalog:
			r.short()
			r.take(1)
		case qTimeZone, qCatalogNZ:
			r.short()
		case qInvoker:
			user, host := r.short(), r.short()
			q.Invoker = string(user) + "@" + string(host)
		case qMicroseconds, qHRNow:
			r.take(3)
			q.Fraction = true
		case qUpdatedDBs:
			q.readUpdated(&r)
		case qGTIDFlags: // a sequence number follows where an online ALTER ends
			flags := r.uint(1)
			q.Alter = AlterPart(flags) & (AlterStarts | AlterEnds | AlterFails)
			if flags&alterEnds != 0 {
				r.take(8)
			}
		case qCollations:
			r.take(4 * int(r.uint(1)))
		default:
			n, known := statusLen[code]
			if !known {
				q.Partial = true
				return
			}
			r.take(n)
		}
	}
	q.Partial = r.err != nil
}

func (q *Query) readUpdated(r *reader) {
	n := int(r.uint(1))
	if n == tooManyDBs {
		q.Overflow = true
		return
	}
	q.Updated = []string{}
	for range n {
		end := bytes.IndexByte(r.b, 0)
		name := r.take(end) // -1 is an error of its own
		r.take(1)
		if r.err != nil {
			return
		}
		q.Updated = append(q.Updated, string(name))
	}
}

// session is what a BEGIN of MySQL says of its session and counts for what is computed from the rows behind it: the values of
// stored generated columns and of indexes, and CHECKs.
type session struct {
	// settings are status variables as they are in the event, such as sql_mode and character sets.
	settings string
	// zone is time_zone, "" where the session had not used it.
	zone string
}

// sessionOf reads it; was is the one before, whose texts it shares if they are the same.
func sessionOf(e *Event, was session) session {
	from := e.Format.postHeader(QueryEvent, queryPostLen)
	if from < queryPostLen || len(e.Body) < from {
		return session{}
	}
	to := from + int(le.Uint16(e.Body[11:]))
	if to > min(len(e.Body), from+mostStatusVar) {
		return session{}
	}
	var buf [256]byte
	settings, zone := buf[:0], []byte(nil)
	for r := (reader{b: e.Body[from:to], what: "QUERY event"}); len(r.b) > 0; {
		all := r.b
		switch code := byte(r.uint(1)); code {
		case qTimeZone:
			zone = r.short()
			continue
		case qFlags2: // rows events say themselves what of that counts
			r.take(4)
			continue
		case qMicroseconds: // of a moment, which no row is computed from
			r.take(3)
			continue
		case qUpdatedDBs:
			new(Query).readUpdated(&r)
			continue
		case qSQLMode:
			r.take(8)
		case qCharset:
			r.take(6)
		case qCatalogNZ:
			r.short()
		default:
			n, known := statusLen[code]
			if !known {
				n = len(r.b) // it may be of any length
			}
			r.take(n)
		}
		settings = append(settings, all[:len(all)-len(r.b)]...)
	}
	if string(settings) != was.settings {
		was.settings = string(settings)
	}
	if string(zone) != was.zone {
		was.zone = string(zone)
	}
	return was
}

// Begins reports whether a QUERY event is the BEGIN that MySQL writes before every transaction, without parsing the rest.
func Begins(e *Event) bool {
	const sql = "BEGIN"
	b := e.Body
	if len(b) < queryPostLen || !bytes.HasSuffix(b, []byte(sql)) {
		return false
	}
	post := e.Format.postHeader(QueryEvent, queryPostLen)
	return len(b) == post+int(le.Uint16(b[11:]))+int(b[8])+1+len(sql)
}

// Is reports whether the statement is the given word and nothing else, in any case.
func (q *Query) Is(word string) bool { return strings.EqualFold(string(q.SQL), word) }
