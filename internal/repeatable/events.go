package repeatable

import (
	"fmt"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// ignorable is the flag of events that a reader who does not know them may skip
// (LOG_EVENT_IGNORABLE_F).
const ignorable = 0x80

// plain are the kinds of events that say all of what they do, or do nothing.
var plain = func() (p [256]bool) {
	for _, t := range []binlog.EventType{
		binlog.QueryEvent, // judged by what is in it
		binlog.StopEvent, binlog.RotateEvent, binlog.FormatDescriptionEvent, binlog.XIDEvent,
		binlog.TableMapEvent,
		binlog.WriteRowsV1, binlog.UpdateRowsV1, binlog.DeleteRowsV1,
		binlog.WriteRowsV2, binlog.UpdateRowsV2, binlog.DeleteRowsV2, binlog.PartialUpdateRowsEvent,
		binlog.HeartbeatEvent, binlog.HeartbeatV2Event, binlog.IgnorableEvent, binlog.RowsQueryEvent,
		binlog.GTIDEvent, binlog.AnonymousGTIDEvent, binlog.TaggedGTIDEvent, binlog.PreviousGTIDsEvent,
		binlog.TransactionContextEvent, binlog.ViewChangeEvent, binlog.XAPrepareEvent,
		binlog.AnnotateRowsEvent, binlog.BinlogCheckpointEvent, binlog.MariaGTIDEvent, binlog.GTIDListEvent,
	} {
		p[t] = true
	}
	return p
}()

// Of judges an event, whose body is there if it is a statement. A fault in that is no reason to end a program: what is
// not understood is a fence. The error is that of an event that cannot be read.
func (j *Judge) Of(e *binlog.Event) (v Verdict, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = fence("unknown", fmt.Sprintf("it is not understood: %v", r)), nil
		}
	}()
	if e.Type != binlog.QueryEvent {
		return j.Event(e.Type, e.Flags), nil
	}
	if binlog.Begins(e) {
		return v, nil
	}
	q, err := binlog.ParseQuery(e)
	if err != nil {
		return v, err
	}
	return j.Query(&q), nil
}

// Event judges an event by its kind. A QUERY event passes: [Judge.Query] is for it.
func (j *Judge) Event(t binlog.EventType, flags uint16) Verdict {
	if plain[t] || flags&ignorable != 0 && !t.Understood() && t != binlog.IncidentEvent {
		return Verdict{}
	}
	switch t {
	case binlog.IncidentEvent:
		return fence("incident", "the server says that its log lacks something")
	case binlog.IntvarEvent, binlog.RandEvent, binlog.UserVarEvent, binlog.AppendBlockEvent, binlog.DeleteFileEvent,
		binlog.BeginLoadQueryEvent, binlog.ExecuteLoadQueryEvent:
		return fence("dml", "a statement that changes rows is in the log as text")
	}
	return fence("event", "an event of kind "+t.String()+" in the log")
}

func fence(kind, why string) Verdict { return Verdict{Fence: why, Kind: kind} }
