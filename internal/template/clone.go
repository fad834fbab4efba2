package template

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// statements gather what is to be run, to be sent in few packets: each round trip costs as
// much as a small statement.
type statements struct {
	ctx  context.Context
	conn *sql.Conn
	text strings.Builder
}

// add takes in a statement, and sends what there is when it is much.
func (s *statements) add(statement string) error {
	if s.text.Len() > 0 && s.text.Len()+len(statement) > dbconn.Packet {
		if err := s.run(); err != nil {
			return err
		}
	}
	s.text.WriteString(statement)
	s.text.WriteString(";\n")
	return nil
}

// last sends what there is, with a statement behind it that no semicolon ends: MySQL would
// take that for a part of a body.
func (s *statements) last(statement string) error {
	s.text.WriteString(statement)
	return s.run()
}

// run sends what there is.
func (s *statements) run() error {
	if s.text.Len() == 0 {
		return nil
	}
	text := s.text.String()
	s.text.Reset()
	_, err := s.conn.ExecContext(s.ctx, text)
	return err
}

// ErrExists says that a database was to be made that is there and not ours.
var ErrExists = errors.New("it is there already")

// errStays says that what was made of a clone is still there.
var errStays = errors.New("what was made of it stays")

// cloneTries is how often a clone is made that turns out not to be as its template.
const cloneTries = 3

// Clone makes the database name with all that the template holds, and returns its AUTO_INCREMENT
// values above 1, by table. What is not as the template, which is ErrDiffers after some tries, is
// never left. The database is not there, or removed again, when there is an error, unless that is
// ErrExists. The session's database is the new one afterwards.
func (s *Shape) Clone(ctx context.Context, conn *sql.Conn, name string) (map[string]uint64, error) {
	counters, err := s.CloneAsleep(ctx, conn, name)
	if err != nil {
		return nil, err
	}
	if err := s.Wake(ctx, conn, name); err != nil {
		if derr := Drop(context.WithoutCancel(ctx), conn, name, s.dataDir()); derr != nil {
			err = fmt.Errorf("%w; and %w: %w", err, errStays, derr)
		}
		return nil, err
	}
	return counters, nil
}

// CloneAsleep is Clone without the events that fire, which Wake makes.
func (s *Shape) CloneAsleep(ctx context.Context, conn *sql.Conn, name string) (map[string]uint64, error) {
	for try := 1; ; try++ {
		counters, err := s.cloneOnce(ctx, conn, name)
		switch {
		case try < cloneTries && dbconn.ObjectExists(err) && !errors.Is(err, errStays):
			// A DROP DATABASE that was killed leaves routines and events behind, on MariaDB, of a database
			// that is gone. They went with what was made of this one.
		case !errors.Is(err, ErrDiffers) || errors.Is(err, errStays):
			return counters, err
		case try == cloneTries:
			return nil, fmt.Errorf("%w (tried %d times)\nhint: ramaria template add %s takes the template as it is now", err, try, s.Name)
		}
	}
}

func (s *Shape) cloneOnce(ctx context.Context, conn *sql.Conn, name string) (map[string]uint64, error) {
	counters, err := s.clone(ctx, conn, name, s.Files)
	if errors.Is(err, errTransport) && !errors.Is(err, errStays) && ctx.Err() == nil {
		if !dbconn.LockTimeout(err) && !dbconn.Interrupted(err) { // who writes to the template has it locked for a while only
			s.Files.off.Store(true)
		}
		counters, err = s.clone(ctx, conn, name, nil)
	}
	return counters, err
}

func (s *Shape) clone(ctx context.Context, conn *sql.Conn, name string, files *Files) (counters map[string]uint64, err error) {
	create := func() error {
		_, err := conn.ExecContext(ctx, "CREATE DATABASE "+dbconn.QuoteName(name)+s.defaults()+"; USE "+dbconn.QuoteName(name))
		return err
	}
	err = create()
	if dbconn.DirectoryStays(err) && s.Files != nil {
		if err = removeStranded(s.Files.DataDir, name); err == nil {
			err = create()
		}
	}
	if err != nil {
		if dbconn.DatabaseExists(err) {
			err = errors.Join(ErrExists, err)
		}
		return nil, fmt.Errorf("clone %s to %s: %w", s.Name, name, err)
	}
	defer func() {
		if err != nil {
			// A caller that gave up waiting must not leave half a database.
			err = fmt.Errorf("clone %s to %s: %w", s.Name, name, err)
			if derr := Drop(context.WithoutCancel(ctx), conn, name, s.dataDir()); derr != nil {
				err = fmt.Errorf("%w; and %w: %w", err, errStays, derr)
			}
		}
	}()
	all := make([]string, len(s.Tables))
	for i, t := range s.Tables {
		all[i] = t.Name
	}
	if err := s.makeTables(ctx, conn, name, all, files); err != nil {
		return nil, err
	}
	_, objects := s.firing()
	if err := s.makeObjects(ctx, conn, name, objects); err != nil {
		return nil, err
	}
	if s.made != nil {
		s.made(name)
	}
	return s.verify(ctx, conn, name, all, objects)
}

// defaults are the options of a database, behind its name.
func (s *Shape) defaults() string { return " " + s.Options }

// makeTables makes tables in the session's database, which is name, and fills them, from files
// where that is not nil and they can be.
func (s *Shape) makeTables(ctx context.Context, conn *sql.Conn, name string, tables []string, files *Files) error {
	run := statements{ctx: ctx, conn: conn}
	// All of them first: a foreign key is not checked while it is filled, but a default
	// may ask a sequence.
	for _, kind := range []bool{true, false} {
		for _, table := range tables {
			if t := s.Table(table); (t.Kind == Sequence) == kind {
				// A default may name a sequence, which the server writes out in full.
				if err := run.add(replaceOutsideStrings(t.Create, dbconn.QuoteName(s.Name)+".", dbconn.QuoteName(name)+".")); err != nil {
					return err
				}
			}
		}
	}
	if err := run.run(); err != nil {
		return err
	}
	rest, err := s.transport(ctx, conn, name, tables, files)
	if err != nil {
		return err
	}
	for _, table := range rest {
		for _, statement := range s.fill(s.Table(table), name) {
			if err := run.add(statement); err != nil {
				return err
			}
		}
	}
	return run.run()
}

// fill returns the statements that fill an empty table.
func (s *Shape) fill(t *Table, name string) []string {
	own := dbconn.QuoteName(name) + "." + dbconn.QuoteName(t.Name)
	if t.Kind == Sequence {
		return restart(own, t.State)
	}
	columns, period := t.given()
	list := strings.Join(columns, ",")
	if t.Kind == Versioned {
		if period == nil { // they are there unseen
			period = []string{"row_start", "row_end"}
		}
		// What rows were before can be copied since 10.11; older servers pass over comments.
		comma := ","
		if columns == nil {
			comma = ""
		}
		list += " /*M!101100 " + comma + strings.Join(period, ",") + " */"
		return []string{"/*M!101100 SET STATEMENT system_versioning_insert_history = 1 FOR */ INSERT INTO " + own + " (" + list + ") SELECT " + list +
			" FROM " + dbconn.QuoteName(s.Name) + "." + dbconn.QuoteName(t.Name) + " /*M!101100 FOR SYSTEM_TIME ALL */"}
	}
	if columns == nil {
		return fillComputed(own, t.Count)
	}
	insert := "INSERT INTO "
	if strings.Contains(t.Create, vectorKey) {
		// Filled in bulk, as with both checks off, the rows are not there yet when MariaDB looks
		// them up for the index (1032, under READ COMMITTED).
		insert = "SET STATEMENT unique_checks = 1 FOR INSERT INTO "
	}
	// Read by an index that has all columns, rows would come in its order, and a table without a
	// primary key keeps the order in which they come.
	return []string{insert + own + " (" + list + ") SELECT " + list + " FROM " + dbconn.QuoteName(s.Name) + "." + dbconn.QuoteName(t.Name) + " USE INDEX ()"}
}

// given are the columns that INSERT gives, quoted, and those of a versioned table that tell when a row
// counts.
func (t *Table) given() (columns, period []string) {
	for _, c := range t.Columns {
		switch {
		case c.Period:
			period = append(period, dbconn.QuoteName(c.Name))
		case !c.Generated:
			columns = append(columns, dbconn.QuoteName(c.Name))
		}
	}
	return columns, period
}

// fillComputed returns the statements that put rows into a table all of whose columns are computed:
// all its rows are the same, and there is no column for INSERT ... SELECT.
func fillComputed(table string, rows int64) (list []string) {
	const most = 10000 // in a statement, of 3 bytes each
	for ; rows > 0; rows -= most {
		list = append(list, "INSERT INTO "+table+" () VALUES "+strings.TrimSuffix(strings.Repeat("(),", int(min(rows, most))), ","))
	}
	return list
}

// vectorKey stands in the definition of a table that has a vector index, of MariaDB from 11.7 on.
// https://mariadb.com/kb/en/vector-overview/
const vectorKey = "VECTOR KEY"

// few is how many rows DELETE removes sooner than TRUNCATE makes a new file.
const few = 300

// fillAgain empties tables that have no triggers, and fills them: from files where they can be, which
// takes a tenth of the time for 200,000 rows.
func (s *Shape) fillAgain(ctx context.Context, conn *sql.Conn, name string, tables []string) error {
	run := statements{ctx: ctx, conn: conn}
	// MySQL keeps the counter of a table through DISCARD and IMPORT, and does not show it until the
	// table is reopened. A new table has none.
	counted := s.Counted()
	for _, table := range tables {
		if s.byFile(s.Table(table), s.Files) && slices.Contains(counted, table) {
			if err := run.add("TRUNCATE TABLE " + dbconn.QuoteName(name) + "." + dbconn.QuoteName(table)); err != nil {
				return fmt.Errorf("refill tables of %s: %w", name, err)
			}
		}
	}
	if err := run.run(); err != nil {
		return fmt.Errorf("refill tables of %s: %w", name, err)
	}
	tables, err := s.transport(ctx, conn, name, tables, s.Files)
	if err != nil { // making the database again does without, if that does not work at all
		return fmt.Errorf("refill tables of %s: %w", name, err)
	}
	for _, table := range tables {
		t, own := s.Table(table), dbconn.QuoteName(name)+"."+dbconn.QuoteName(table)
		empty := "TRUNCATE TABLE " + own
		// Other engines put new rows into the room of deleted ones, in another order.
		if t.Rows <= few && t.Engine == "InnoDB" {
			empty = "DELETE FROM " + own
		}
		for _, statement := range append([]string{empty}, s.fill(t, name)...) {
			if err := run.add(statement); err != nil {
				return fmt.Errorf("refill %s of %s: %w", table, name, err)
			}
		}
	}
	if err := run.run(); err != nil {
		return fmt.Errorf("refill tables of %s: %w", name, err)
	}
	return nil
}

// makeObjects makes views, routines, triggers and events in the session's database.
func (s *Shape) makeObjects(ctx context.Context, conn *sql.Conn, name string, objects []Object) error {
	if len(objects) == 0 {
		return nil
	}
	run := statements{ctx: ctx, conn: conn}
	if err := run.add("SET @ramaria_mode = @@sql_mode, @ramaria_zone = @@time_zone"); err != nil {
		return err
	}
	collation := s.Collation
	for _, o := range objects {
		// Parameters and variables of a routine have the collation that the database had when it was
		// made, unless they say another.
		if o.Collation != "" && o.Collation != collation {
			collation = o.Collation
			if err := run.add("ALTER DATABASE " + dbconn.QuoteName(name) + " COLLATE " + collation); err != nil {
				return err
			}
		}
		if err := run.add(o.settings()); err != nil {
			return err
		}
		create, err := s.relocated(o, name)
		if err != nil {
			return fmt.Errorf("%s %s: %w", strings.ToLower(o.Kind), o.Name, err)
		}
		if err := run.last(create); err != nil {
			return err
		}
	}
	if err := run.add("SET NAMES utf8mb4"); err != nil {
		return err
	}
	if collation != s.Collation {
		if err := run.add("ALTER DATABASE " + dbconn.QuoteName(name) + " COLLATE " + s.Collation); err != nil {
			return err
		}
	}
	if err := run.add("SET sql_mode = @ramaria_mode, time_zone = @ramaria_zone"); err != nil {
		return err
	}
	return run.run()
}

// settings is the statement that sets what an object was made with.
func (o Object) settings() string {
	list := []string{"sql_mode = " + dbconn.Quote(o.SQLMode)}
	if o.Kind == "VIEW" { // it has none of its own
		list[0] = "sql_mode = @ramaria_mode"
	}
	for _, s := range []struct{ name, value string }{
		{"character_set_client", o.Client}, {"collation_connection", o.Connection}, {"time_zone", o.Zone},
	} {
		if s.value != "" {
			list = append(list, s.name+" = "+dbconn.Quote(s.value))
		}
	}
	return "SET " + strings.Join(list, ", ")
}
