package tests

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// A longer run of TestKilledServerLosesNothing, which docs/durability.md quotes:
// how many kills, and a setting of the instance (name=value) to compare with.
const (
	envKills   = "RAMARIA_TEST_KILLS"
	envKillSet = "RAMARIA_TEST_KILL_SET"
	// envKillVolume is the kind of volume; only root has others than shm and disk.
	envKillVolume = "RAMARIA_TEST_KILL_VOLUME"
)

const (
	// defaultKills is the number of kills of an ordinary run.
	defaultKills, lessKills = 5, 3
	// supervisorEvery is how often it is the supervisor that is killed.
	supervisorEvery = 3
	// leastWork and mostWork bound the time from the start of writing to the kill.
	leastWork, mostWork = 150 * time.Millisecond, 700 * time.Millisecond
)

// TestKilledServerLosesNothing kills a server, or its supervisor, under a write
// load, time and again: each time `ramaria up` must bring back every acknowledged
// commit, no half transaction, and tables that check clean.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	k := newKilled(h, os.Getenv(envKillSet))
	kills := killsWanted(t)
	bad := map[string]int{}
	for n := 1; n <= kills; n++ {
		victim := "server"
		if n%supervisorEvery == 0 {
			victim = "supervisor"
		}
		acks := k.loadAndKill(t, victim)
		err := k.recover(t)
		t.Logf("kill %d, of the %s: %d commits acknowledged in this round; pages mended from the doublewrite buffer: %d", n, victim, acks, k.mended())
		if err != nil {
			bad[victim]++
			t.Errorf("kill %d, of the %s: %v", n, victim, err)
			k.begin(t)
		}
	}
	t.Logf("%d kills, every %drd of the supervisor; damaged: %v; recoveries that mended a torn page: %d; commits acknowledged and found again: %d",
		kills, supervisorEvery, bad, k.mendings, k.total)
	if t.Failed() || os.Getenv(envKills) != "" {
		return
	}
	// The check must be able to fail.
	if _, err := k.db.Exec("DELETE FROM ack WHERE writer = 3 AND n = 1"); err != nil {
		t.Fatal(err)
	}
	if err := k.check(t.Context(), k.db); err == nil || !strings.Contains(err.Error(), "writer 3") {
		t.Errorf("an acknowledged row was deleted, and the check says %v", err)
	}
	if _, err := k.db.Exec("UPDATE account SET balance = balance + 1 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	if err := k.check(t.Context(), k.db); err == nil || !strings.Contains(err.Error(), "half") {
		t.Errorf("half a transaction was left out, and the check says %v", err)
	}
}

// copies is how many directories of killed servers TestKilledDirectoryIsRecovered
// copies, unless RAMARIA_TEST_KILLS says otherwise.
const copies, lessCopies = 2, 1

// TestKilledDirectoryIsRecovered makes instances from copies of the data directory of
// a killed server that had a binary log. The copy leaves the log out, and recovery
// must find every acknowledged commit all the same.
func TestKilledDirectoryIsRecovered(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	k := newKilled(h, "")
	n := fewer(copies, lessCopies)
	if os.Getenv(envKills) != "" {
		n = killsWanted(t)
	}
	for i := range n {
		k.loadAndKill(t, "server")
		source, name := filepath.Join(h.home, "source"), fmt.Sprintf("copy%d", i)
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", k.data(), source).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v: %s", err, out)
		}
		// A transaction that was prepared and not acknowledged may be committed in the
		// copy, which has no log to ask, and rolled back in the original.
		acked := k.told()
		if err := k.settled(t.Context(), openDSN(t, h.ramaria("up", name, "--from", source, "--server", h.daemon()))); err != nil {
			t.Errorf("copy %d: %v", i+1, err)
		}
		k.tell(acked)
		h.ramaria("down", name, "--rm")
		if err := errors.Join(os.RemoveAll(source), k.recover(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// killed is an instance that is killed under load.
type killed struct {
	*load
	set string
	// total counts acknowledged commits, mendings the recoveries that used the
	// doublewrite buffer.
	total, mendings int
}

const killedName = "killed"

func newKilled(h *testHome, set string) *killed {
	k := &killed{load: newLoad(h, killedName, cmp.Or(os.Getenv(envKillVolume), "shm")), set: set}
	k.begin(h.t)
	return k
}

// begin removes the instance and makes it again.
func (k *killed) begin(t *testing.T) {
	t.Helper()
	var args []string
	for s := range strings.FieldsSeq(k.set) {
		args = append(args, "--set", s)
	}
	k.make(t, args...)
}

// loadAndKill writes with several connections, kills the victim at a random
// moment, waits until both processes are gone, and returns how many commits were
// acknowledged.
func (k *killed) loadAndKill(t *testing.T, victim string) int {
	t.Helper()
	var p pids
	if err := json.Unmarshal([]byte(k.h.ramaria("status", killedName, "--json")), &p); err != nil {
		t.Fatal(err)
	}
	before := k.told()
	_, wait := k.start(t)
	time.Sleep(leastWork + rand.N(mostWork-leastWork)) // #nosec G404 -- no secret
	pid := p.Server
	if victim == "supervisor" {
		pid = p.Supervisor
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var handles []*sys.Process
	for _, pid := range []int{p.Server, p.Supervisor} {
		handle, err := sys.OpenProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, handle)
	}
	defer func() {
		for _, handle := range handles {
			handle.Close()
		}
	}()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := wait(); !errors.Is(err, errBroken) {
		t.Fatalf("the writers ended with %v", err)
	}
	for _, handle := range handles {
		if err := handle.WaitExit(ctx); err != nil {
			t.Fatalf("an orphan: %v", err)
		}
	}
	acks := 0
	for w, n := range k.told() {
		acks += n - before[w]
	}
	k.total += acks
	return acks
}

// recover brings the instance up again and checks it.
func (k *killed) recover(t *testing.T) error {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, talk, err := k.h.try("up", killedName)
	if err != nil {
		return fmt.Errorf("up: %w: %s", err, talk)
	}
	k.open(t, out)
	if k.mended() > 0 {
		k.mendings++
	}
	return k.settled(ctx, k.db)
}

// data is the instance's data directory.
func (k *killed) data() string {
	return filepath.Join(k.dir(), "data")
}

// killsWanted reads RAMARIA_TEST_KILLS.
func killsWanted(t *testing.T) int {
	t.Helper()
	return killsOf(t, envKills, fewer(defaultKills, lessKills))
}

// mendedLine is what the server logs for each page that it found torn and took
// from the doublewrite buffer.
var mendedLine = regexp.MustCompile(`(?i)recovered page .* from the doublewrite buffer`)

// mended counts the pages that the last recovery took from the doublewrite buffer.
func (k *killed) mended() int {
	log, err := os.ReadFile(filepath.Join(k.dir(), "server.log"))
	if err != nil {
		return 0
	}
	return len(mendedLine.FindAll(log, -1))
}
