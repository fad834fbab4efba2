package template_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// envKills has TestKilledClone kill more often: RAMARIA_TEST_KILLS=150.
const envKills = "RAMARIA_TEST_KILLS"

// TestKilledClone kills the server at random moments of a clone by files. It starts again,
// what was made of the clone goes away as any database, and the next one is whole.
func TestKilledClone(t *testing.T) { servertest.Each(t, testKilledClone) }

func testKilledClone(t *testing.T, want string) {
	srv := servertest.Start(t, servertest.Find(t, want))
	kills, err := strconv.Atoi(os.Getenv(envKills))
	if err != nil {
		kills = 15 // of a file that has its template's number the first three show it
		if servertest.Quick() {
			kills = 5
		}
	}
	srv.Load(t, "CREATE DATABASE shop; USE shop; CREATE TABLE shop.item (id int PRIMARY KEY, name varchar(40), KEY (name));"+
		"INSERT INTO shop.item SELECT seq, 'x' FROM "+numbers(2000)+";")
	for n := range kills {
		took, wait := cloneAndKill(t, srv)
		if t.Logf("kill %d after %v of %v", n, wait, took); t.Failed() {
			return
		}
		srv.Restart(t)
	}
}

// cloneAndKill makes a whole clone, which it compares and drops, and kills the server in the
// next one. It returns how long the first took, and what the kill waited for.
func cloneAndKill(t *testing.T, srv *servertest.Running) (took, wait time.Duration) {
	t.Helper()
	conn := unlogged(t, srv)
	if err := template.Analyze(t.Context(), conn, "shop"); err != nil {
		t.Fatal(err)
	}
	shape := read(t, conn, "shop")
	shape.Files = &template.Files{DataDir: srv.DataDir(), UID: srv.Account.UID, GID: srv.Account.GID}
	run(t, conn, "DROP DATABASE IF EXISTS mine")
	start := time.Now()
	if _, err := shape.Clone(t.Context(), conn, "mine"); err != nil {
		t.Fatal(err)
	}
	took = time.Since(start)
	if shape.Files.Failed() {
		t.Error("it was not made of files")
	}
	same(t, srv, "shop", "mine")
	run(t, conn, "DROP DATABASE mine")
	var group sync.WaitGroup
	group.Go(func() { _, _ = shape.Clone(t.Context(), conn, "mine") }) // killed, or not
	wait = rand.N(took)
	time.Sleep(wait)
	srv.Kill()
	group.Wait()
	return took, wait
}
