package replay

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// crashTable marks a table of MyISAM as crashed, and spoils rows of it: more of them than a repair takes away unasked.
func crashTable(t *testing.T, stem string) {
	t.Helper()
	index, err := os.OpenFile(stem+".MYI", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	const changed, crashed = 26, 3 // MI_STATE_INFO in storage/myisam/myisamdef.h, behind a header of 24 bytes
	if _, err := index.WriteAt([]byte{crashed}, changed); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(stem + ".MYD")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"row-02", "row-03", "row-04"} {
		at := bytes.Index(data, []byte(row))
		if at < 0 {
			t.Fatalf("no %s in %s", row, stem)
		}
		copy(data[at-8:], bytes.Repeat([]byte{0xff}, 8)) // the header of its block
	}
	if err := os.WriteFile(stem+".MYD", data, 0); err != nil { // it is there, with its owner
		t.Fatal(err)
	}
}

// TestReplayOfCrashedTable: a table that a killed server left crashed in a base does not hold up the rest.
func TestReplayOfCrashedTable(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "crashed.sql")
		crashTable(t, filepath.Join(w.base, "shop", "isam"))
		w.Load(t, "USE shop; INSERT INTO isam VALUES (20, 'row-20'); INSERT INTO kept VALUES (20)")
		w.Kill()
		got, _ := w.replay(t, w.logs(t))
		if is := strings.Join(query(t, got, "SELECT a FROM shop.kept ORDER BY a"), ","); is != "1,20" {
			t.Errorf("a table beside it has %s", is)
		}
		if is := strings.Join(query(t, got, "SELECT a FROM shop.isam WHERE a IN (1, 20) ORDER BY a"), ","); is != "1,20" {
			t.Errorf("the crashed table has, of what was not spoilt, %s", is)
		}
	})
}
