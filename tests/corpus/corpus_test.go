package corpus

import (
	"context"
	"database/sql"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/tests/home"
)

// envCorpus is a pattern of names of inputs, or "all"; without it the samples alone are checked.
const envCorpus = "RAMARIA_TEST_CORPUS"

// Values of envCorpus: the whole corpus, whose page is written then; and its page alone, with what
// runs have found since the last of everything.
const everything, pageOnly = "all", "page"

// checkTime bounds the check of one input on one server.
const checkTime = 5 * time.Minute

var update = flag.Bool("update", false, "write sums.txt")

func TestMain(m *testing.M) { os.Exit(home.Main(m)) }

// TestCorpus checks all inputs on all servers: see the comment of the package.
func TestCorpus(t *testing.T) {
	pattern := os.Getenv(envCorpus)
	if pattern == "" {
		t.Skip("SKIPPED: `make corpus` checks what packages ship; TestSamples does so with what is here")
	}
	kept, err := newRecords()
	if err != nil {
		t.Fatal(err)
	}
	if pattern == pageOnly {
		if err := kept.writePage(); err != nil {
			t.Fatal(err)
		}
		return
	}
	only := regexp.MustCompile(map[bool]string{true: "", false: pattern}[pattern == everything])
	began := time.Now()
	if pattern == everything {
		if err := kept.forget(); err != nil {
			t.Fatal(err)
		}
	}
	var stands []*stand
	for _, want := range []string{maria10, maria11, mysql9} {
		stands = append(stands, newStand(t, want))
	}
	dir, err := inputDir()
	if err != nil {
		t.Fatal(err)
	}
	m := &maker{dir: dir, only: only, stands: stands}
	inputs := m.make(t.Context(), t, sources)
	if *update && pattern == everything {
		if err := os.WriteFile("sums.txt", []byte(strings.Join(m.sums, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d inputs in %d dialects after %s: %s", len(inputs), countDialects(inputs), time.Since(began).Round(time.Second), dir)
	for _, failure := range m.failures {
		if err := kept.add(result{failure: failure}); err != nil {
			t.Error(err)
		}
		t.Errorf("no input: %s", failure)
	}
	if len(inputs) == 0 {
		return
	}
	t.Run("on", func(t *testing.T) {
		for _, at := range stands {
			if want := os.Getenv(servertest.EnvServer); want != "" && want != at.want {
				continue // it only writes dumps
			}
			t.Run(at.want, func(t *testing.T) {
				t.Parallel()
				checkAll(t, at, inputs, kept.add)
			})
		}
	})
	if pattern != everything {
		return
	}
	for _, k := range known {
		if !k.used.Load() {
			t.Errorf("no input has this known difference any more: %s", k.reason)
		}
	}
	if err := kept.writePage(); err != nil {
		t.Error(err)
	}
}

// inputDir is a directory for inputs, which are kept until the next run, for whoever mends what was found.
func inputDir() (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "inputs")
	return dir, os.MkdirAll(dir, 0o755)
}

// checkAll checks inputs on one server, one after the other.
func checkAll(t *testing.T, at *stand, inputs []input, found func(result) error) {
	for _, in := range inputs {
		t.Run(in.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), checkTime)
			defer cancel()
			c := &check{stand: at, in: in}
			r, err := c.run(ctx)
			if err != nil {
				t.Error(err)
			}
			if err := found(r); err != nil {
				t.Error(err)
			}
			for _, step := range steps {
				said := r.steps[step].said
				if step == "client" || said == "" {
					continue
				}
				if reason := reasonOf(r, step); reason != "" {
					t.Logf("%s: known: %s", step, reason)
					continue
				}
				t.Errorf("%s %s", step, said)
			}
		})
	}
}

// TestSamples does with the samples of tests/testdata what TestCorpus does with all.
func TestSamples(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		at := newStand(t, want)
		m := &maker{dir: t.TempDir(), only: regexp.MustCompile("^(chinook|sakila)/package"), stands: []*stand{at}}
		inputs := m.make(t.Context(), t, sources)
		if len(inputs) != 2 || len(m.failures) > 0 {
			t.Fatalf("%d inputs; %v", len(inputs), m.failures)
		}
		checkAll(t, at, inputs, func(r result) error {
			for _, step := range steps {
				if _, done := r.steps[step]; !done {
					t.Errorf("%s: %s was not done", r.input.name, step)
				}
			}
			return nil
		})
	})
}

// TestFaultsAreSeen: what `load` does otherwise than the client is a difference.
func TestFaultsAreSeen(t *testing.T) {
	at := newStand(t, servertest.Servers[0])
	file := filepath.Join(t.TempDir(), "shop.sql")
	text := "CREATE TABLE a (id int NOT NULL AUTO_INCREMENT, v varchar(9), PRIMARY KEY (id), KEY v (v));\nINSERT INTO a (v) VALUES ('x'),('y'),(NULL);\n" +
		"CREATE VIEW w AS SELECT v FROM a;\nCREATE PROCEDURE p() SELECT 1;\nCREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW SET NEW.v = 'z';\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for fault, seen := range map[string]string{
		"DO 0":                               "",
		"UPDATE a SET v = 'X' WHERE v = 'x'": "rows a",
		"INSERT INTO a VALUES (7, 'z')":      "counter",
		"DROP TRIGGER t":                     "trigger t",
		"DROP VIEW w":                        "table w",
		"ALTER TABLE a DROP KEY v":           "STATISTICS",
		"ALTER DATABASE c_bbbbbb CHARACTER SET latin1": "database",
	} {
		c := &check{stand: at, in: input{name: "shop/package", file: file}}
		c.meddle = func(ctx context.Context) error {
			return at.within(ctx, byLoad, func(conn *sql.Conn) error {
				_, err := conn.ExecContext(ctx, fault)
				return err
			})
		}
		r, err := c.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if said := r.steps["load"].said; (said == "") != (seen == "") || !strings.Contains(said, seen) {
			t.Errorf("%s: said %q, want %q", fault, said, seen)
		}
	}
}
