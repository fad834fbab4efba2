package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/fixture"
)

// Data is the data that servers are filled with: the fixture, or the user's own dump.
type Data struct {
	Lab *Lab
	// own is the path of the user's dump, "" for the fixture.
	Path string

	begun bool
	err   error
	// Of the user's dump, once it was read: its text, the databases that it names itself,
	// those of them that it does not make, and the one that it must be given, "" for none.
	Text     string
	names    []string
	Missing  []string
	Database string
	// want is what it holds, by database. moving are tables that hold something else after
	// each load, by database and table.
	Want     map[string]Contents
	changing map[dump.TableName]bool
}

// Fixture is the data that every machine has.
func (l *Lab) Fixture() *Data { return &Data{Lab: l, Database: FixtureDatabase} }

// Data is the data that was asked for: the user's dump, or the fixture.
func (l *Lab) Data() *Data {
	if l.Options.Dump == "" {
		return l.Fixture()
	}
	if l.data == nil { // reading it takes its time
		l.data = &Data{Lab: l, Path: l.Options.Dump}
	}
	return l.data
}

// FileName is that of the dump as people would type it.
func (p *Data) FileName() string {
	if p.Path != "" {
		return filepath.Base(p.Path)
	}
	return FixtureDatabase + ".sql"
}

// Describe puts into the settings of a scenario which data it was.
func (p *Data) Describe(settings map[string]string) map[string]string {
	if p.Path != "" {
		settings["data"] = p.Path
	}
	return settings
}

// NotApplicableError is the reason why a row cannot be measured with the user's dump: ErrUnavailable
// that is not the machine's fault.
type NotApplicableError string

func (e NotApplicableError) Error() string { return string(e) }

// Is tells the runner to leave the row without figures.
func (e NotApplicableError) Is(target error) bool { return target == runner.ErrUnavailable }

// Ready reads the user's dump, once, and loads it twice: that it can be loaded, and what it
// holds then, is known before anything is measured.
func (p *Data) Ready(ctx context.Context) error {
	if p.Path == "" || p.begun {
		return p.err
	}
	p.begun = true
	if p.err = p.Unpack(); p.err == nil {
		p.err = p.inspect(ctx)
	}
	if p.err != nil {
		p.err = fmt.Errorf("use dump %s: %w", p.Path, p.err)
	}
	return p.err
}

// ReadyForImage is ready for rows that have an image of the data, which need no databases.
func (p *Data) ReadyForImage(ctx context.Context) error {
	err := p.Ready(ctx)
	if err == nil && len(p.Missing) > 0 {
		err = NotApplicableError("no image can be built of the dump: it uses the database " + p.Missing[0] + ", which it does not make")
	}
	return err
}

// Unpack writes the dump as the client reads it, and finds out which databases are its.
func (p *Data) Unpack() (err error) {
	in, err := dumpfile.Open(p.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	var sum dump.Summary
	p.Text, err = p.Lab.DumpFile("own", func(w io.Writer) (err error) {
		sum, err = dump.Check(w, in, dump.Options{File: p.Path})
		return err
	})
	if err != nil {
		return err
	}
	p.names = sum.Databases
	if i := slices.IndexFunc(p.names, dbconn.SystemSchema); i >= 0 {
		return fmt.Errorf("it holds the system database %s, which is each server's own\nhint: mysqldump --databases NAME... instead of --all-databases", p.names[i])
	}
	if sum.NeedsDatabase || len(sum.Databases) == 0 {
		if p.Database = dumpfile.DatabaseName(p.Path); dbconn.UnfitName(p.Database) != "" {
			p.Database = "app"
		}
	}
	return nil
}

// Databases are all that a load makes.
func (p *Data) Databases() []string {
	if p.Database == "" {
		return p.names
	}
	return append([]string{p.Database}, slices.DeleteFunc(slices.Clone(p.names), func(n string) bool { return n == p.Database })...)
}

// SingleDatabase is the only database, or an error that says why there is no such thing.
func (p *Data) SingleDatabase() (string, error) {
	if all := p.Databases(); len(all) == 1 {
		return all[0], nil
	}
	return "", NotApplicableError(fmt.Sprintf("the dump makes %d databases, and a clone is of one", len(p.Databases())))
}

// Create returns the statements that create the databases that a load needs; as is the name of
// the one that it is given, or its own.
func (p *Data) Create(as string) string {
	names := slices.Clone(p.Missing)
	if p.Database != "" {
		names = append(names, as)
	}
	return Statements("CREATE DATABASE ", names)
}

// Drop returns the statements that drop all that a load created, as is the name in Create.
func (p *Data) Drop(as string) string {
	names := p.Databases()
	if p.Database != "" {
		names[0] = as
	}
	return Statements("DROP DATABASE IF EXISTS ", names)
}

// Statements returns one statement for each name.
func Statements(verb string, names []string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteString(verb + dbconn.QuoteName(n) + ";\n")
	}
	return b.String()
}

// File is the path of the dump in a shape, for a client; the user's own has but one.
func (p *Data) File(shape fixture.Shape) (string, error) {
	if p.Path != "" {
		return p.Text, nil
	}
	return p.Lab.DumpFile("fixture-"+shape.String(), func(w io.Writer) error { return fixture.World{}.WriteDump(w, shape) })
}

// ReloadScript is the path of a file for one session of the client, that makes all again: drop,
// create, load. as is the database to be given.
func (p *Data) ReloadScript(as string, shape fixture.Shape) (string, error) {
	dump, err := p.File(shape)
	if err != nil {
		return "", err
	}
	head := p.Drop(as) + p.Create(as)
	if p.Database != "" {
		head += "USE " + dbconn.QuoteName(as) + ";\n"
	}
	return p.Lab.WrapDump("recipe-"+shape.String()+"-"+as, head, dump, "")
}

// From are the flags for an instance with the data on a volume.
func (p *Data) From(volume string) []string {
	flags := p.Lab.From(volume)
	if p.Path == "" {
		return flags
	}
	flags[indexOf(flags, "--from")+1] = p.Path
	if p.Database != "" {
		flags = append(flags, "--database", p.Database)
	}
	return flags
}

// Set are settings of servers that are set up by hand: tables of the user's that do not say
// their character set are to have the same one everywhere.
func (p *Data) Set() map[string]string {
	if p.Path == "" {
		return nil
	}
	return map[string]string{"character_set_server": "utf8mb4"}
}

// Size is about what it takes on disk, in bytes, as text.
func (p *Data) Size() int64 {
	if p.Path == "" {
		return 1 << 20
	}
	info, err := os.Stat(p.Path)
	if err != nil {
		return 0 // which opening it will tell
	}
	const packed = 8 // what compression makes of dumps, at best
	if dumpfile.Packed(p.Path) {
		return packed * info.Size()
	}
	return info.Size()
}

// Query asks a server the first question: about a table of it.
func (p *Data) Query(ctx context.Context, e dbconn.Endpoint) error {
	table := dump.TableName{Database: p.Database, Name: "country"}
	if p.Path != "" {
		table = p.someTable()
	}
	db, err := dbconn.Open(e.Socket, e.Login, "")
	if err != nil {
		return err
	}
	defer db.Close()
	var n int
	if table.Name == "" {
		return db.QueryRowContext(ctx, "SELECT 1").Scan(&n)
	}
	return db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+dbconn.QuoteName(table.Database)+"."+dbconn.QuoteName(table.Name)).Scan(&n)
}

// Question is a statement for the client, and its answer: the numbers of rows of the fixture,
// or the checksum of a table of the user's dump that holds the same after each load.
func (p *Data) Question() (statement, answer string) {
	if p.Path == "" {
		count := func(table string) string {
			return "(SELECT COUNT(*) FROM " + dbconn.QuoteName(p.Database) + "." + table + ")"
		}
		return "SELECT " + count("country") + ", " + count("city") + ", " + count("language"), fmt.Sprintf("%d\t%d\t%d", fixture.Countries, fixture.Cities, fixture.Languages)
	}
	for _, database := range p.Databases() {
		for _, table := range p.Want[database].tables() {
			_, sum, there := strings.Cut(p.Want[database][table], withChecksum)
			if there && sum != "" && !p.changing[dump.TableName{Database: database, Name: table}] {
				return "CHECKSUM TABLE " + dbconn.QuoteName(database) + "." + dbconn.QuoteName(table), database + "." + table + "\t" + sum
			}
		}
	}
	return "SELECT 1", "1" // it holds no table of which more is known
}

// someTable is the first table of the user's dump, none if it makes none.
func (p *Data) someTable() dump.TableName {
	for _, database := range p.Databases() {
		if tables := p.Want[database].tables(); len(tables) > 0 {
			return dump.TableName{Database: database, Name: tables[0]}
		}
	}
	return dump.TableName{}
}

// Verify checks what a server holds; as is the database that the dump was loaded into.
func (p *Data) Verify(ctx context.Context, e dbconn.Endpoint, as string) error {
	database := ""
	if p.Path == "" {
		database = as
	}
	db, err := dbconn.Open(e.Socket, e.Login, database)
	if err != nil {
		return err
	}
	defer db.Close()
	if p.Path == "" {
		return fixture.World{}.Verify(ctx, db)
	}
	var errs []error
	for _, database := range p.Databases() {
		name := database
		if database == p.Database {
			name = as
		}
		have, err := p.read(ctx, db, database, name)
		if err != nil {
			return err
		}
		errs = append(errs, p.Want[database].mustEqual(have, name, "after the first load"))
	}
	return errors.Join(errs...)
}

// VerifyInstance checks what an instance of the lab holds.
func (p *Data) VerifyInstance(ctx context.Context, name string) error {
	i, err := p.Lab.Instance(name)
	if err != nil {
		return err
	}
	return p.Verify(ctx, i.Endpoint, p.Database)
}
