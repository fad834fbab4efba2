package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/server"
)

// payload is the data that servers are filled with: the fixture, or the user's own dump.
type payload struct {
	lab *Lab
	// own is the path of the user's dump, "" for the fixture.
	own string

	begun bool
	err   error
	// Of the user's dump, once it was read: its text, the databases that it names itself,
	// those of them that it does not make, and the one that it must be given, "" for none.
	text     string
	names    []string
	missing  []string
	database string
	// want is what it holds, by database. moving are tables that hold something else after
	// each load, by database and table.
	want   map[string]contents
	moving map[dump.TableName]bool
}

// fixture is the payload that every machine has, and payload the one that was asked for.
func (l *Lab) fixture() *payload { return &payload{lab: l, database: labDatabase} }

func (l *Lab) payload() *payload {
	if l.Options.Dump == "" {
		return l.fixture()
	}
	if l.own == nil { // reading it takes its time
		l.own = &payload{lab: l, own: l.Options.Dump}
	}
	return l.own
}

// fileName is that of the dump as people would type it.
func (p *payload) fileName() string {
	if p.own != "" {
		return filepath.Base(p.own)
	}
	return labDatabase + ".sql"
}

// describe puts into the settings of a scenario which data it was.
func (p *payload) describe(settings map[string]string) map[string]string {
	if p.own != "" {
		settings["data"] = p.own
	}
	return settings
}

// leftOutError is the reason why a row makes no sense with the user's dump: ErrUnavailable
// that is not the machine's fault.
type leftOutError string

func (e leftOutError) Error() string { return string(e) }

// Is tells the runner to leave the row without figures.
func (e leftOutError) Is(target error) bool { return target == bench.ErrUnavailable }

// ready reads the user's dump, once, and loads it twice: that it can be loaded, and what it
// holds then, is known before anything is measured.
func (p *payload) ready(ctx context.Context) error {
	if p.own == "" || p.begun {
		return p.err
	}
	p.begun = true
	if p.err = p.unpack(); p.err == nil {
		p.err = p.learn(ctx)
	}
	if p.err != nil {
		p.err = fmt.Errorf("use dump %s: %w", p.own, p.err)
	}
	return p.err
}

// imageable is ready for rows that have an image of the data: nobody makes databases for one.
func (p *payload) imageable(ctx context.Context) error {
	err := p.ready(ctx)
	if err == nil && len(p.missing) > 0 {
		err = leftOutError("no image can be built of the dump: it uses the database " + p.missing[0] + ", which it does not make")
	}
	return err
}

// unpack writes the dump as the client reads it, and finds out which databases are its.
func (p *payload) unpack() (err error) {
	in, err := dump.Open(p.own)
	if err != nil {
		return err
	}
	defer in.Close()
	var sum dump.Summary
	p.text, err = p.lab.dumpFile("own", func(w io.Writer) (err error) {
		sum, err = dump.Check(w, in, dump.Options{File: p.own})
		return err
	})
	if err != nil {
		return err
	}
	p.names = sum.Databases
	if i := slices.IndexFunc(p.names, server.SystemSchema); i >= 0 {
		return fmt.Errorf("it holds the system database %s, which is each server's own\nhint: mysqldump --databases NAME... instead of --all-databases", p.names[i])
	}
	if sum.NeedsDatabase || len(sum.Databases) == 0 {
		if p.database = dump.DatabaseName(p.own); server.UnfitName(p.database) != "" {
			p.database = "app"
		}
	}
	return nil
}

// databases are all that a load makes.
func (p *payload) databases() []string {
	if p.database == "" {
		return p.names
	}
	return append([]string{p.database}, slices.DeleteFunc(slices.Clone(p.names), func(n string) bool { return n == p.database })...)
}

// single is the only database, or an error that says why there is no such thing.
func (p *payload) single() (string, error) {
	if all := p.databases(); len(all) == 1 {
		return all[0], nil
	}
	return "", leftOutError(fmt.Sprintf("the dump makes %d databases, and a clone is of one", len(p.databases())))
}

// create are the statements that make what a load needs to be there, drop those that take
// away what it made; as is the name that database gets, or its own.
func (p *payload) create(as string) string {
	names := slices.Clone(p.missing)
	if p.database != "" {
		names = append(names, as)
	}
	return statements("CREATE DATABASE ", names)
}

func (p *payload) drop(as string) string {
	names := p.databases()
	if p.database != "" {
		names[0] = as
	}
	return statements("DROP DATABASE IF EXISTS ", names)
}

func statements(verb string, names []string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteString(verb + server.QuoteName(n) + ";\n")
	}
	return b.String()
}

// file is the path of the dump in a shape, for a client; the user's own has but one.
func (p *payload) file(shape fixture.Shape) (string, error) {
	if p.own != "" {
		return p.text, nil
	}
	return p.lab.dumpFile("fixture-"+shape.String(), func(w io.Writer) error { return fixture.World{}.WriteDump(w, shape) })
}

// recipe is the path of a file for one session of the client, that makes all anew: drop,
// create, load. as is the database to be given.
func (p *payload) recipe(as string, shape fixture.Shape) (string, error) {
	dump, err := p.file(shape)
	if err != nil {
		return "", err
	}
	head := p.drop(as) + p.create(as)
	if p.database != "" {
		head += "USE " + server.QuoteName(as) + ";\n"
	}
	return p.lab.framed("recipe-"+shape.String()+"-"+as, head, dump, "")
}

// framed is the path of a dump with statements before and behind it.
func (l *Lab) framed(name, head, path, tail string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	return l.dumpFile(name, func(w io.Writer) error {
		_, err := io.Copy(w, io.MultiReader(strings.NewReader(head), in, strings.NewReader(tail)))
		return err
	})
}

// from are the flags for an instance with the data on a volume.
func (p *payload) from(volume string) []string {
	flags := p.lab.From(volume)
	if p.own == "" {
		return flags
	}
	flags[indexOf(flags, "--from")+1] = p.own
	if p.database != "" {
		flags = append(flags, "--database", p.database)
	}
	return flags
}

// set are settings of servers that are set up by hand: tables of the user's that do not say
// their character set are to have the same one everywhere.
func (p *payload) set() map[string]string {
	if p.own == "" {
		return nil
	}
	return map[string]string{"character_set_server": "utf8mb4"}
}

// size is about what it takes on disk, in bytes, as text.
func (p *payload) size() int64 {
	if p.own == "" {
		return 1 << 20
	}
	info, err := os.Stat(p.own)
	if err != nil {
		return 0 // which opening it will tell
	}
	const packed = 8 // what compression makes of dumps, at best
	if slices.Contains([]string{".gz", ".zst", ".xz"}, filepath.Ext(p.own)) {
		return packed * info.Size()
	}
	return info.Size()
}

// query asks a server the first question: about a table of it.
func (p *payload) query(ctx context.Context, e server.Endpoint) error {
	table := dump.TableName{Database: p.database, Name: "country"}
	if p.own != "" {
		table = p.someTable()
	}
	db, err := server.Open(e.Socket, e.Login, "")
	if err != nil {
		return err
	}
	defer db.Close()
	var n int
	if table.Name == "" {
		return db.QueryRowContext(ctx, "SELECT 1").Scan(&n)
	}
	return db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+server.QuoteName(table.Database)+"."+server.QuoteName(table.Name)).Scan(&n)
}

// question is a statement for the client, and its answer: the numbers of rows of the fixture,
// or the checksum of a table of the user's dump that holds the same after each load.
func (p *payload) question() (statement, answer string) {
	if p.own == "" {
		count := func(table string) string {
			return "(SELECT COUNT(*) FROM " + server.QuoteName(p.database) + "." + table + ")"
		}
		return "SELECT " + count("country") + ", " + count("city") + ", " + count("language"), fmt.Sprintf("%d\t%d\t%d", fixture.Countries, fixture.Cities, fixture.Languages)
	}
	for _, database := range p.databases() {
		for _, table := range p.want[database].tables() {
			_, sum, there := strings.Cut(p.want[database][table], withChecksum)
			if there && sum != "" && !p.moving[dump.TableName{Database: database, Name: table}] {
				return "CHECKSUM TABLE " + server.QuoteName(database) + "." + server.QuoteName(table), database + "." + table + "\t" + sum
			}
		}
	}
	return "SELECT 1", "1" // it holds no table of which more is known
}

// someTable is the first table of the user's dump, none if it makes none.
func (p *payload) someTable() dump.TableName {
	for _, database := range p.databases() {
		if tables := p.want[database].tables(); len(tables) > 0 {
			return dump.TableName{Database: database, Name: tables[0]}
		}
	}
	return dump.TableName{}
}

// verify checks what a server holds; as is the database that the dump was loaded into.
func (p *payload) verify(ctx context.Context, e server.Endpoint, as string) error {
	database := ""
	if p.own == "" {
		database = as
	}
	db, err := server.Open(e.Socket, e.Login, database)
	if err != nil {
		return err
	}
	defer db.Close()
	if p.own == "" {
		return fixture.World{}.Verify(ctx, db)
	}
	var errs []error
	for _, database := range p.databases() {
		name := database
		if database == p.database {
			name = as
		}
		have, err := p.read(ctx, db, database, name)
		if err != nil {
			return err
		}
		errs = append(errs, p.want[database].mustEqual(have, name, "after the first load"))
	}
	return errors.Join(errs...)
}

// verifyInstance checks what an instance of the lab holds.
func (p *payload) verifyInstance(ctx context.Context, name string) error {
	i, err := p.lab.instance(name)
	if err != nil {
		return err
	}
	return p.verify(ctx, i.Endpoint, p.database)
}
