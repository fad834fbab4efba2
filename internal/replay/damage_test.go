package replay

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// copies are the logs, in a directory of their own, where a test can change them.
func copies(t *testing.T, logs []Log) []Log {
	t.Helper()
	dir := t.TempDir()
	for i, l := range logs {
		b, err := os.ReadFile(l.Path)
		if err != nil {
			t.Fatal(err)
		}
		l.Path = filepath.Join(dir, filepath.Base(l.Path))
		if err := os.WriteFile(l.Path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		logs[i] = l
	}
	return logs
}

// ends are where the groups of a file end.
func ends(t *testing.T, path string) (list []int64) {
	t.Helper()
	if _, err := binlog.Scan(path, 4, func(g binlog.Group) error {
		list = append(list, g.End)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestReplayOfCutLog cuts a log off anywhere: what is whole of it is there, and nothing else. It also replays
// parts of it, one after the other.
func TestReplayOfCutLog(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.counting(t, 300)
		exec(t, w.Running, "FLUSH BINARY LOGS")
		exec(t, w.Running, insert301)
		w.Kill()
		logs := copies(t, w.logs(t))
		list := ends(t, logs[0].Path)
		if len(list) != 300 || len(logs) != 2 {
			t.Fatalf("%d groups, %d files", len(list), len(logs))
		}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rnd := rand.New(rand.NewPCG(seed, 0))
		for range 2 {
			cut := list[0] + rnd.Int64N(list[len(list)-1]-list[0]+1) // behind the first, so that there is something to cut again
			if err := os.Truncate(logs[0].Path, cut); err != nil {
				t.Fatal(err)
			}
			whole, _ := slices.BinarySearch(list, cut+1)
			got, r := w.replay(t, logs[:1])
			if r.Groups != int64(whole) || counted(t, got) != upTo(r.Groups) {
				t.Errorf("cut at %d: %s, %+v; want %d", cut, counted(t, got), r, whole)
			}
			got.Kill()
			list = list[:whole]
		}
		// From one end of a group to another, and from there on.
		logs = copies(t, w.logs(t))
		list = ends(t, logs[0].Path)
		first := w.job(t, []Log{{Path: logs[0].Path, To: list[99]}})
		if _, err := first.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := &Job{Server: w.Server, Account: w.Account, Dir: first.Dir, DataDir: first.DataDir, Volume: "disk", Logs: []Log{{Path: logs[0].Path, From: list[99]}, logs[1]}}
		var done, total int64
		second.Progress = func(d, n int64) {
			if d < done || d > n {
				t.Errorf("progress from %d to %d of %d", done, d, n)
			}
			done, total = d, n
		}
		r, err := second.Run(t.Context())
		if err != nil || r.Groups != 201 || total != r.Bytes || done != total {
			t.Errorf("%+v, %v; %d of %d bytes", r, err, done, total)
		}
		got := servertest.StartOn(t, w.Server, second.DataDir, logging)
		if counted(t, got) != upTo(301) {
			t.Errorf("in two parts: %s", counted(t, got))
		}
		for _, l := range []Log{{Path: logs[0].Path, From: list[99] + 1}, {Path: logs[0].Path, To: list[99] - 1}, {Path: logs[0].Path, To: 1 << 40}} {
			if r, err := w.job(t, []Log{l}).Run(t.Context()); err == nil {
				t.Errorf("from %d to %d: %+v", l.From, l.To, r)
			}
		}
	})
}

// tree is what a directory holds: hashes of files by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = fmt.Sprintf("%x", sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestTrapDamageIsNoEnd: servers take a damaged event for the end of the log, and lose what is behind it without
// a word. A Job refuses such a log before it touches the data directory; only in the last transaction of a file it
// is taken for a file that was cut off.
func TestTrapDamageIsNoEnd(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.counting(t, 50)
		w.Kill()
		logs := copies(t, w.logs(t))
		list := ends(t, logs[0].Path)
		b, err := os.ReadFile(logs[0].Path)
		if err != nil {
			t.Fatal(err)
		}
		b = b[:list[len(list)-1]]
		for _, tc := range []struct {
			name    string
			at      int64
			refused bool
		}{{"in the middle", list[24] - 40, true}, {"in the last transaction but one", list[48] - 1, true}, {"in the last event", list[49] - 1, false}} {
			bad := bytes.Clone(b)
			bad[tc.at] ^= 4
			if err := os.WriteFile(logs[0].Path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			j := w.job(t, logs[:1])
			before := tree(t, j.DataDir)
			r, err := j.Run(t.Context())
			var corrupt *binlog.CorruptError
			switch {
			case tc.refused && !errors.As(err, &corrupt):
				t.Errorf("%s: %+v, %v", tc.name, r, err)
			case tc.refused && !cmp.Equal(before, tree(t, j.DataDir)):
				t.Errorf("%s: the data directory was touched", tc.name)
			case !tc.refused && (err != nil || r.Groups != 49):
				t.Errorf("%s: %+v, %v", tc.name, r, err)
			}
		}
	})
}

// TestMissingTransactionIsSeen is the control of the comparisons: a log without one of its transactions makes
// another server.
func TestMissingTransactionIsSeen(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.counting(t, 20)
		exec(t, w.Running, "UPDATE shop.counted SET s = 'changed' WHERE id = 7")
		before := state(t, w.Running)
		w.Kill()
		logs := copies(t, w.logs(t))
		list := ends(t, logs[0].Path)
		// An insert, and the last update.
		for _, i := range []int{19, 20} {
			j := w.job(t, []Log{{Path: logs[0].Path, To: list[i-1]}})
			if _, err := j.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if i < 20 {
				j.Logs = []Log{{Path: logs[0].Path, From: list[i]}}
				if _, err := j.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			got := servertest.StartOn(t, w.Server, j.DataDir, logging)
			if cmp.Equal(before, state(t, got)) {
				t.Errorf("without transaction %d: all is the same", i)
			}
			got.Kill()
		}
	})
}
