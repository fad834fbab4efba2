package binlog

import "strconv"

// EventType is the kind of an event, as the servers number it.
//
// https://github.com/mysql/mysql-server/blob/9.7/libs/mysql/binlog/event/binlog_event.h
// https://github.com/MariaDB/server/blob/11.8/sql/log_event.h
type EventType byte

// The kinds that this package parses.
const (
	QueryEvent             EventType = 2
	StopEvent              EventType = 3
	RotateEvent            EventType = 4
	FormatDescriptionEvent EventType = 15
	XIDEvent               EventType = 16
	TableMapEvent          EventType = 19
	WriteRowsV1            EventType = 23
	UpdateRowsV1           EventType = 24
	DeleteRowsV1           EventType = 25
	IncidentEvent          EventType = 26
	HeartbeatEvent         EventType = 27
	IgnorableEvent         EventType = 28
	RowsQueryEvent         EventType = 29
	WriteRowsV2            EventType = 30
	UpdateRowsV2           EventType = 31
	DeleteRowsV2           EventType = 32
	GTIDEvent              EventType = 33
	AnonymousGTIDEvent     EventType = 34
	PreviousGTIDsEvent     EventType = 35
	XAPrepareEvent         EventType = 38
	HeartbeatV2Event       EventType = 41
	TaggedGTIDEvent        EventType = 42
	AnnotateRowsEvent      EventType = 160
	BinlogCheckpointEvent  EventType = 161
	MariaGTIDEvent         EventType = 162
	GTIDListEvent          EventType = 163
)

// The kinds that say with which values the statement behind them is run.
// https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1User__var__event.html
const (
	IntvarEvent  EventType = 5
	RandEvent    EventType = 13
	UserVarEvent EventType = 14
)

// The kinds that it can only name.
const (
	AppendBlockEvent        EventType = 9
	DeleteFileEvent         EventType = 11
	BeginLoadQueryEvent     EventType = 17
	ExecuteLoadQueryEvent   EventType = 18
	TransactionContextEvent EventType = 36
	ViewChangeEvent         EventType = 37
	PartialUpdateRowsEvent  EventType = 39
	TransactionPayloadEvent EventType = 40
	StartEncryptionEvent    EventType = 164
	QueryCompressedEvent    EventType = 165
	deleteRowsCompressed    EventType = 171
)

var typeNames = map[EventType]string{
	QueryEvent: "QUERY", StopEvent: "STOP", RotateEvent: "ROTATE", FormatDescriptionEvent: "FORMAT_DESCRIPTION",
	XIDEvent: "XID", TableMapEvent: "TABLE_MAP", WriteRowsV1: "WRITE_ROWS_V1", UpdateRowsV1: "UPDATE_ROWS_V1",
	DeleteRowsV1: "DELETE_ROWS_V1", IncidentEvent: "INCIDENT", HeartbeatEvent: "HEARTBEAT", IgnorableEvent: "IGNORABLE",
	RowsQueryEvent: "ROWS_QUERY", WriteRowsV2: "WRITE_ROWS", UpdateRowsV2: "UPDATE_ROWS", DeleteRowsV2: "DELETE_ROWS",
	GTIDEvent: "GTID", AnonymousGTIDEvent: "ANONYMOUS_GTID", PreviousGTIDsEvent: "PREVIOUS_GTIDS",
	XAPrepareEvent: "XA_PREPARE", HeartbeatV2Event: "HEARTBEAT_V2", TaggedGTIDEvent: "GTID_TAGGED",
	AnnotateRowsEvent: "ANNOTATE_ROWS", BinlogCheckpointEvent: "BINLOG_CHECKPOINT", MariaGTIDEvent: "GTID",
	GTIDListEvent: "GTID_LIST",

	1: "START_V3", 6: "LOAD", 7: "SLAVE", 8: "CREATE_FILE", 10: "EXEC_LOAD", 12: "NEW_LOAD",
	20: "PRE_GA_WRITE_ROWS", 21: "PRE_GA_UPDATE_ROWS", 22: "PRE_GA_DELETE_ROWS",
	IntvarEvent: "INTVAR", AppendBlockEvent: "APPEND_BLOCK", DeleteFileEvent: "DELETE_FILE", RandEvent: "RAND",
	UserVarEvent: "USER_VAR", BeginLoadQueryEvent: "BEGIN_LOAD_QUERY", ExecuteLoadQueryEvent: "EXECUTE_LOAD_QUERY",
	TransactionContextEvent: "TRANSACTION_CONTEXT", ViewChangeEvent: "VIEW_CHANGE",
	PartialUpdateRowsEvent: "PARTIAL_UPDATE_ROWS", TransactionPayloadEvent: "TRANSACTION_PAYLOAD",
	StartEncryptionEvent: "START_ENCRYPTION", QueryCompressedEvent: "QUERY_COMPRESSED",
	166: "WRITE_ROWS_COMPRESSED_V1", 167: "UPDATE_ROWS_COMPRESSED_V1", 168: "DELETE_ROWS_COMPRESSED_V1",
	169: "WRITE_ROWS_COMPRESSED", 170: "UPDATE_ROWS_COMPRESSED", deleteRowsCompressed: "DELETE_ROWS_COMPRESSED",
}

// String returns the server's name of the kind ("TABLE_MAP"), or its number.
func (t EventType) String() string {
	if s, ok := typeNames[t]; ok {
		return s
	}
	return "number " + strconv.Itoa(int(t))
}

// Understood reports whether the whole meaning of such an event can be had from this
// package. Of the others the consumer knows the name only, and must not think that
// nothing happened.
func (t EventType) Understood() bool {
	switch {
	case t == IncidentEvent, t >= StartEncryptionEvent:
		return false
	case t >= QueryEvent && t <= IntvarEvent, t == RandEvent, t == UserVarEvent, t == FormatDescriptionEvent, t == XIDEvent, t == TableMapEvent,
		t >= WriteRowsV1 && t <= PreviousGTIDsEvent, t == XAPrepareEvent, t == HeartbeatV2Event, t == TaggedGTIDEvent,
		t >= AnnotateRowsEvent && t <= GTIDListEvent:
		return true
	}
	return false
}

// hasTable reports whether the body of such an event begins with the number of the table whose
// rows it changes, though the rest of it is not understood: PARTIAL_UPDATE_ROWS, and rows that
// MariaDB compressed.
func (t EventType) hasTable() bool {
	return t == PartialUpdateRowsEvent || t > QueryCompressedEvent && t <= deleteRowsCompressed
}

// RowsTable returns the number of the table that an event changes rows of which this package
// cannot read, false for all others.
func (e *Event) RowsTable() (id uint64, ok bool) {
	const width = 6
	if !e.Type.hasTable() || len(e.Body) < width {
		return 0, false
	}
	r := reader{b: e.Body, what: e.Type.String() + " event"}
	return r.uint(width), true
}

// RowKind tells what a rows event did.
type RowKind uint8

// Kinds of row events.
const (
	NotRows RowKind = iota
	Write
	Update
	Delete
)

// images is how many row images each row of such an event has.
func (k RowKind) images() int {
	if k == Update {
		return 2
	}
	return 1
}

// String returns "write", "update", "delete" or "none".
func (k RowKind) String() string { return [...]string{"none", "write", "update", "delete"}[k&3] }

// Rows tells whether and how an event of this kind changes rows.
func (t EventType) Rows() RowKind {
	switch t {
	case WriteRowsV1, WriteRowsV2:
		return Write
	case UpdateRowsV1, UpdateRowsV2:
		return Update
	case DeleteRowsV1, DeleteRowsV2:
		return Delete
	}
	return NotRows
}

// rowsType is the reverse of Rows.
func rowsType(k RowKind, v2 bool) EventType {
	t := WriteRowsV1 + EventType(k-Write)
	if v2 {
		t += WriteRowsV2 - WriteRowsV1
	}
	return t
}
