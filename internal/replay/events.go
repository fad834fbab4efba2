package replay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/server"
)

// An applier makes every event that the log creates or alters one that is disabled on replicas, whatever it
// was. So the states are followed in the statements, and put back.

// note notes what a statement of the log does to events, which is to be refused, and which is to be left out.
func (s *session) note(q *binlog.Query) error {
	if repeatable.OfNotes(q, s.Server.Flavour == server.MySQL) {
		q.SQL = nil
		return nil
	}
	s.noteCurrentUser(q)
	c, ok := dump.ParseEvent(q.SQL)
	if !ok {
		return nil
	}
	for _, name := range []*dump.TableName{&c.Event, &c.To} {
		if name.Database == "" && name.Name != "" {
			name.Database = q.Schema
		}
	}
	s.changes = append(s.changes, eventChange{c, q.CharsetClient})
	return nil
}

// eventChange is what a statement does to events. Its names are in a character set, that of a collation.
type eventChange struct {
	dump.EventChange
	charset uint16
}

// decode has the names in UTF-8, as the server tells them.
func (c *eventChange) decode(ctx context.Context, conn *sql.Conn) error {
	var from string
	for _, name := range []*string{&c.Event.Database, &c.Event.Name, &c.To.Database, &c.To.Name} {
		if !strings.ContainsFunc(*name, func(r rune) bool { return r >= utf8.RuneSelf }) || c.charset == 0 {
			continue
		}
		if from == "" {
			var err error
			if from, _, err = dbconn.CollationOf(ctx, conn, c.charset); err != nil {
				return err
			}
		}
		if err := conn.QueryRowContext(ctx, "SELECT CONVERT(CONVERT(CAST(? AS BINARY) USING "+from+") USING utf8mb4)", []byte(*name)).Scan(name); err != nil {
			return fmt.Errorf("read the name of an event: %w", err)
		}
	}
	return nil
}

// eventStates are the states of all events, by database and name.
type eventStates map[string]map[string]dump.EventState

// names of events are in any case, those of databases as the server takes them.
func (s *session) eventKey(n dump.TableName) (database, name string) {
	database = n.Database
	if server.FoldsNames(s.Set) {
		database = strings.ToLower(database)
	}
	return database, strings.ToLower(n.Name)
}

func (s *session) setState(states eventStates, n dump.TableName, state dump.EventState) {
	database, name := s.eventKey(n)
	if states[database] == nil {
		states[database] = map[string]dump.EventState{}
	}
	states[database][name] = state
}

// readEvents asks for the states of all events.
func (s *session) readEvents(ctx context.Context) (eventStates, error) {
	states := eventStates{}
	err := dbconn.Query(ctx, s.db, "SELECT event_schema, event_name, status FROM information_schema.events", func(c []string) error {
		state := dump.EventReplicaDisabled
		switch c[2] {
		case "ENABLED":
			state = dump.EventEnabled
		case "DISABLED":
			state = dump.EventDisabled
		}
		s.setState(states, dump.TableName{Database: c[0], Name: c[1]}, state)
		return nil
	})
	return states, err
}

// noteEvents remembers the states of events before the log.
func (s *session) noteEvents(ctx context.Context) (err error) {
	if len(s.changes) > 0 {
		s.events, err = s.readEvents(ctx)
	}
	return err
}

// follow carries out what a statement does to the states.
func (s *session) follow(c dump.EventChange) {
	database, name := s.eventKey(c.Event)
	is, there := s.events[database][name]
	switch c.Action {
	case dump.CreateEvent:
		if there && c.IfMissing {
			return
		}
		if c.State == "" {
			c.State = dump.EventEnabled
		}
	case dump.DropEvent:
		delete(s.events[database], name)
		return
	case dump.DropEvents:
		delete(s.events, database)
		return
	case dump.AlterEvent:
		if c.State == "" {
			c.State = is
		}
	}
	if c.To != (dump.TableName{}) {
		delete(s.events[database], name)
		c.Event = c.To
	}
	s.setState(s.events, c.Event, c.State)
}

// putEventsBack gives events the state that they have where the log was written.
func (s *session) putEventsBack(ctx context.Context) error {
	if len(s.changes) == 0 {
		return nil
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, c := range s.changes {
		if err := c.decode(ctx, conn); err != nil {
			return err
		}
		s.follow(c.EventChange)
	}
	now, err := s.readEvents(ctx)
	if err != nil {
		return err
	}
	for database, events := range now {
		for name, is := range events {
			want, known := s.events[database][name]
			if is != dump.EventReplicaDisabled || want == is {
				continue
			}
			if !known {
				err = errors.New("no statement of the log says how it was made")
			} else {
				err = alterEvent(ctx, conn, database, name, want)
			}
			if err != nil {
				return fmt.Errorf("put back event %s of %s: %w", name, database, err)
			}
		}
	}
	return nil
}

// alterEvent changes the state of an event, and nothing else. For that moment the server is who made it, and its database is as
// it was then.
func alterEvent(ctx context.Context, conn *sql.Conn, database, name string, state dump.EventState) error {
	a, err := dbconn.AlterEvent(ctx, conn, database, name, string(state))
	if err != nil {
		return err
	}
	list := append([]string{"SET GLOBAL server_id = " + a.Originator}, a.Statements...)
	if a.Collation != a.Now {
		of := "ALTER DATABASE " + dbconn.QuoteName(database) + " COLLATE "
		list = slices.Concat([]string{of + a.Collation}, list, []string{of + a.Now})
	}
	for _, text := range list {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}
