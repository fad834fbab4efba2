package replay

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestReplayKeepsOrder: writers meet on rows now and then, and what each makes of a row depends on what it was. On
// MySQL, whose applier has several threads, it is the log's clock that keeps the order: without it the rows
// come out otherwise.
func TestReplayKeepsOrder(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "updated.sql")
		w.mix(t, 10_000)
		const rows = "SELECT id, k FROM shop.updated WHERE k <> id"
		before := query(t, w.Running, rows)
		w.Kill()
		logs := copies(t, w.logs(t))
		got, r := w.replay(t, logs)
		if diff := cmp.Diff(before, query(t, got, rows)); diff != "" || r.Groups < 9_900 {
			t.Errorf("%+v; rows (-twin +replayed):\n%.2000s", r, diff)
		}
		got.Kill()
		if w.Flavour != server.MySQL {
			return
		}
		for _, l := range logs {
			stopClock(t, l.Path)
		}
		j := w.job(t, logs)
		if _, err := j.Run(t.Context()); err != nil {
			t.Logf("without a clock: %v", err)
			return
		}
		if cmp.Equal(before, query(t, servertest.StartOn(t, w.Server, j.DataDir, logging), rows)) {
			t.Error("all is the same without a clock")
		}
	})
}

// mix changes some of 4,000 rows, n times.
func (w *twin) mix(t *testing.T, n int) {
	t.Helper()
	w.write(t, n, func(rnd *rand.Rand) string {
		return fmt.Sprintf("UPDATE updated SET k = (k * 31 + %d) %% 1000003 + 1000000 WHERE id = %d", rnd.IntN(1000), 1+rnd.IntN(4000))
	})
}

// stopClock has every transaction of a log say that it depends on none but the first.
func stopClock(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const header, anonymous, committedAt = 19, 34, 1 + 16 + 8 + 1
	le := binary.LittleEndian
	for at := uint32(4); int(at) < len(b); {
		n := le.Uint32(b[at+9:])
		if e := b[at : at+n]; e[4] == anonymous && le.Uint64(e[header+committedAt+8:]) > 1 {
			le.PutUint64(e[header+committedAt:], 1)
			le.PutUint32(e[n-4:], crc32.ChecksumIEEE(e[:n-4]))
		}
		at += n
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
