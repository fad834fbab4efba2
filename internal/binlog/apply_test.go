package binlog

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// BenchmarkApply says what it costs to make 10 000 changes of one row each, as
// autocommits, and to undo them with rows gathered in events and one by one.
func BenchmarkApply(b *testing.B) {
	const rows = 10_000
	r := startReal(b, os.Getenv(servertest.EnvServer))
	r.exec("CREATE TABLE t (id INT PRIMARY KEY, n INT, s VARCHAR(100), KEY (n))", "CREATE TABLE u (id INT PRIMARY KEY, n INT)",
		"CREATE TABLE nokey (id INT, n INT)")
	fill := func() {
		for i := range rows {
			r.exec(fmt.Sprintf("INSERT INTO t VALUES (%d,%d,'some text of a row')", i, i%100))
		}
	}
	kinds := map[string][2]func(){
		"insert": {func() {}, fill},
		"update": {fill, func() {
			for i := range rows {
				r.exec(fmt.Sprintf("UPDATE t SET n=n+1 WHERE id=%d", i))
			}
		}},
		"delete": {fill, func() {
			for i := range rows {
				r.exec(fmt.Sprintf("DELETE FROM t WHERE id=%d", i))
			}
		}},
		"two tables": {func() {}, func() {
			for i := range rows / 2 {
				r.exec(fmt.Sprintf("INSERT INTO t VALUES (%d,%d,'some text of a row')", i, i%100), fmt.Sprintf("INSERT INTO u VALUES (%d,%d)", i, i))
			}
		}},
		"counter": {func() { r.exec("INSERT INTO u VALUES (1,1)") }, func() {
			for range rows {
				r.exec("UPDATE u SET n=n+1 WHERE id=1")
			}
		}},
		"nokey 400": {func() {}, func() {
			for i := range 400 {
				r.exec(fmt.Sprintf("INSERT INTO nokey VALUES (%d,%d)", i, i))
			}
		}},
		"nokey chain": {func() { r.exec("INSERT INTO nokey VALUES (1,1),(2,2),(2,3)") }, func() {
			for range 400 {
				r.exec("UPDATE nokey SET n=n+1")
			}
		}},
	}
	for name, f := range kinds {
		b.Run(name, func(b *testing.B) {
			for _, size := range []int{0, 1} {
				r.exec("TRUNCATE t", "TRUNCATE u", "TRUNCATE nokey")
				f[0]()
				before, from := r.state([]string{"t", "u", "nokey"}), r.pos()
				start := time.Now()
				f[1]()
				made := time.Since(start)
				start = time.Now()
				changes, format := r.changes(from)
				read := time.Since(start)
				undo := r.undoer(format)
				start = time.Now()
				inv, err := Invert(changes, InvertOptions{Flavour: r.flavour, ServerID: 9, EventBytes: size})
				if err != nil {
					b.Fatal(err)
				}
				inverted := time.Since(start)
				start = time.Now()
				if err := r.apply(undo, inv); err != nil {
					b.Error(err)
				}
				b.Logf("event bytes %d: made in %v, read in %v, inverted in %v, undone in %v, %d bytes", size, made, read, inverted, time.Since(start), len(inv.Statements[0]))
				if diff := cmp.Diff(before, r.state([]string{"t", "u", "nokey"})); diff != "" {
					b.Errorf("not undone %.500s", diff)
				}
			}
		})
	}
}
