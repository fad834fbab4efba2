package load

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database is the one that dumps without USE are loaded into.
const database = "d"

// stand is a server that dumps are loaded into, one after the other.
type stand struct {
	*servertest.Running
	db *sql.DB
}

// each runs f on a stand of each server.
func each(t *testing.T, f func(t *testing.T, s *stand)) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv, err := servertest.Look(t, want)
		if err != nil {
			t.Skipf("SKIPPED, UNTESTED: no %s: %v", want, err)
		}
		f(t, newStand(t, srv))
	})
}

func newStand(t *testing.T, srv *server.Server) *stand {
	t.Helper()
	s := &stand{Running: servertest.Start(t, srv)}
	var err error
	if s.db, err = dbconn.OpenLoading(s.Endpoint.Socket, s.Endpoint.Login, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close() })
	return s
}

func (s *stand) exec(t *testing.T, statement string) {
	t.Helper()
	if _, err := s.db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// databases returns those that are not the server's.
func (s *stand) databases(t *testing.T) []string {
	t.Helper()
	var list []string
	err := dbconn.Query(t.Context(), s.db, "SHOW DATABASES", func(c []string) error {
		if !dbconn.SystemSchema(c[0]) {
			list = append(list, c[0])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// clear leaves nothing but an empty database.
func (s *stand) clear(t *testing.T) {
	t.Helper()
	for _, name := range s.databases(t) {
		s.exec(t, "SET foreign_key_checks = 0; DROP DATABASE "+dbconn.QuoteName(name)+"; SET foreign_key_checks = 1")
	}
	s.exec(t, "CREATE DATABASE "+database)
}

// client runs one of the server's client programs.
func (s *stand) client(t *testing.T, p server.Program, in []byte, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	options := s.Mysql[len(s.Client.Argv):]
	argv := slices.Concat(p.Argv, options, args)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append([]string{"LC_ALL=C"}, p.Env...)
	cmd.Stdin = bytes.NewReader(in)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// plain loads a dump as the client program does.
func (s *stand) plain(t *testing.T, in []byte) (said string, err error) {
	t.Helper()
	_, said, err = s.client(t, s.Client, in, "--binary-mode", "--default-character-set=utf8mb4", database)
	return said, err
}

// load loads a dump as this package does.
func (s *stand) load(ctx context.Context, in io.Reader) error {
	to := Target{Server: s.Server, Endpoint: s.Endpoint}
	to.Endpoint.Database = database
	_, err := to.Load(ctx, "test.sql", in)
	return err
}

// content returns all databases as the dump program has them, in the order in which the
// server gives rows.
func (s *stand) content(t *testing.T) string {
	t.Helper()
	if len(s.Dumper.Argv) == 0 {
		t.Fatalf("%s has no dump program", s.Name())
	}
	args := []string{"--routines", "--triggers", "--events", "--hex-blob", "--skip-comments", "--skip-extended-insert", "--no-tablespaces",
		"--skip-lock-tables", "--default-character-set=utf8mb4"}
	if s.Flavour == server.MySQL {
		args = append(args, "--set-gtid-purged=OFF")
	}
	out, said, err := s.client(t, s.Dumper, nil, append(append(args, "--databases"), s.databases(t)...)...)
	if err != nil {
		t.Fatalf("dump: %v: %s", err, said)
	}
	return out
}

// counter returns a number of SHOW GLOBAL STATUS.
func (s *stand) counter(t *testing.T, name string) int {
	t.Helper()
	var is string
	var n int
	if err := s.db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&is, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// sizes are what the package has as variables.
type sizes struct{ firstChunk, lastChunk, largeTable, maxInsert int }

// Sizes that have small dumps treated as large ones: every row apart, and some together.
var (
	tiny   = sizes{40, 200, 1, 60}
	little = sizes{2 << 10, 16 << 10, 32 << 10, 8 << 10}
)

func (s sizes) set(t *testing.T) {
	was := sizes{firstChunk, lastChunk, largeTable, maxInsert}
	t.Cleanup(func() {
		firstChunk, lastChunk, largeTable, maxInsert = was.firstChunk, was.lastChunk, was.largeTable, was.maxInsert
	})
	firstChunk, lastChunk, largeTable, maxInsert = s.firstChunk, s.lastChunk, s.largeTable, s.maxInsert
}

// equal loads a dump both ways and compares, and again in chunks of another size. It returns
// how many statements of LOAD DATA and ALTER TABLE those took.
func (s *stand) equal(t *testing.T, in []byte, small sizes) (loads, alters int) {
	t.Helper()
	s.clear(t)
	if said, err := s.plain(t, in); err != nil {
		t.Fatalf("the client: %v: %s", err, said)
	}
	want := s.content(t)
	if !strings.Contains(want, "INSERT INTO") {
		t.Fatal("there are no rows to compare")
	}
	load := func(t *testing.T) {
		s.clear(t)
		if err := s.load(t.Context(), bytes.NewReader(in)); err != nil {
			t.Error(err)
			return
		}
		if got := s.content(t); got != want {
			t.Errorf("other than by the client (-):\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
		}
	}
	t.Run("as it is", load)
	t.Run("small", func(t *testing.T) {
		small.set(t)
		loads, alters = -s.counter(t, "Com_load"), -s.counter(t, "Com_alter_table")
		load(t)
		loads, alters = loads+s.counter(t, "Com_load"), alters+s.counter(t, "Com_alter_table")
	})
	return loads, alters
}

// TestEqualsClient compares what is in the server after a dump was loaded with what is
// there after the server's own client has loaded it.
func TestEqualsClient(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		files, err := filepath.Glob("testdata/*.sql")
		if err != nil || len(files) == 0 {
			t.Fatal("no dumps", err)
		}
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
				s.equal(t, s.read(t, file), tiny)
			})
		}
	})
}

// TestFixturesEqualClient does the same with what the benchmarks load, and sees to it that
// rows go by LOAD DATA and keys are made behind them.
func TestFixturesEqualClient(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		for name, set := range map[string]interface {
			WriteDump(out io.Writer, shape fixture.Shape) error
		}{
			"world": fixture.World{}, "shop": fixture.Shop{Rows: 40_000},
		} {
			for _, shape := range []fixture.Shape{fixture.Extended, fixture.OneRow} {
				t.Run(name+" "+shape.String(), func(t *testing.T) {
					var in bytes.Buffer
					if err := set.WriteDump(&in, shape); err != nil {
						t.Fatal(err)
					}
					loads, alters := s.equal(t, in.Bytes(), little)
					t.Logf("%d LOAD DATA, %d ALTER TABLE", loads, alters)
					if loads < 4 || alters < 4 {
						t.Errorf("%d LOAD DATA and %d ALTER TABLE: this tests something else", loads, alters)
					}
				})
			}
		}
	})
}

// TestSamplesEqualClient does the same with Chinook, Northwind and Sakila.
func TestSamplesEqualClient(t *testing.T) {
	const dir = "../../tests/testdata/samples"
	each(t, func(t *testing.T, s *stand) {
		for _, files := range [][]string{{"chinook.sql"}, {"northwind.sql", "northwind-data.sql"}, {"sakila-schema.sql", "sakila-data.sql"}} {
			t.Run(files[0], func(t *testing.T) {
				var in []byte
				for _, f := range files {
					in = append(in, s.read(t, filepath.Join(dir, f))...)
				}
				s.equal(t, in, little)
			})
		}
	})
}

// TestComparisonNotices shows that what is compared tells of one row, number or key.
func TestComparisonNotices(t *testing.T) {
	s := newStand(t, servertest.Find(t, ""))
	s.clear(t)
	var in bytes.Buffer
	if err := (fixture.World{}).WriteDump(&in, fixture.Extended); err != nil {
		t.Fatal(err)
	}
	if err := s.load(t.Context(), &in); err != nil {
		t.Fatal(err)
	}
	was := s.content(t)
	if was != s.content(t) {
		t.Fatal("it differs without a change")
	}
	for _, change := range []string{
		"UPDATE d.city SET Population = Population + 1 WHERE ID = 17",
		"DELETE FROM d.city WHERE ID = 18",
		"ALTER TABLE d.city AUTO_INCREMENT = 2000000",
		"ALTER TABLE d.city ADD KEY further (Population)",
		"CREATE VIEW d.v AS SELECT 1",
	} {
		s.exec(t, change)
		is := s.content(t)
		if is == was {
			t.Errorf("%s, and the comparison says nothing", change)
		}
		was = is
	}
}

// read returns a dump for the server.
func (s *stand) read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(servertest.Flavoured(s.Server, string(text)))
}
