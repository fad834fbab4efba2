package image

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
)

func TestIsDataDir(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"mariadb": {map[string]string{"ibdata1": ""}, true}, "mysql 8": {map[string]string{"mysql.ibd": ""}, true},
		"system tables": {map[string]string{"mysql/": ""}, true}, "a dump named mysql": {map[string]string{"mysql": ""}, false},
		"dumps": {map[string]string{"a.sql": ""}, false},
	} {
		if got := server.LooksLikeDataDir(tree(t, c.files)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func walked(t *testing.T, dir string) ([]string, error) {
	t.Helper()
	var got []string
	err := walkDataDir(dir, func(rel string, d fs.DirEntry) error {
		if d.IsDir() {
			rel += "/"
		}
		got = append(got, rel)
		return nil
	})
	slices.Sort(got)
	return got, err
}

// TestWalkDataDir: data is copied; logs and files that a server recreates are not, at
// the top only.
func TestWalkDataDir(t *testing.T) {
	dir := tree(t, map[string]string{
		"ibdata1": "", "ib_logfile0": "", "undo001": "", "aria_log_control": "", "mysql/db.frm": "", "shop/t.ibd": "", "empty/": "",
		"ibtmp1": "", "ib_buffer_pool": "", "host.pid": "", "host.err": "", "auto.cnf": "", "master.info": "", "master-a.info": "",
		"relay-log.info": "", "tc.log": "",
		"mylog.index": "./mylog.000001\n/elsewhere/mylog.000002\n\n", "mylog.000001": "", "mylog.000001.idx": "", "mylog.000002": "", "mylog.state": "",
		"mylog.000003": "not in the index", "shop/mylog.000001": "a table's", "shop/x.pid": "",
	})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"aria_log_control", "empty/", "ib_logfile0", "ibdata1", "mylog.000003", "mysql/", "mysql/db.frm",
		"shop/", "shop/mylog.000001", "shop/t.ibd", "shop/x.pid", "undo001",
	}
	got, err := walked(t, dir)
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v: -want +got\n%s", err, cmp.Diff(want, got))
	}
}

func TestWalkDataDirLeadsElsewhere(t *testing.T) {
	for name, put := range map[string]func(dir string) error{
		"shop/t.ibd": func(dir string) error { return os.Symlink("/elsewhere", filepath.Join(dir, "shop/t.ibd")) },
		"other":      func(dir string) error { return os.Symlink("/elsewhere", filepath.Join(dir, "other")) },
		"shop/t.isl": func(dir string) error { return os.WriteFile(filepath.Join(dir, "shop/t.isl"), nil, 0o600) },
	} {
		dir := tree(t, map[string]string{"ibdata1": "", "shop/": ""})
		if err := put(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := walked(t, dir); err == nil || !strings.Contains(err.Error(), name+" leads to a file elsewhere") || !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestHashDataDir: every name and content counts, what is left out does not.
func TestHashDataDir(t *testing.T) {
	base := map[string]string{"ibdata1": "x", "shop/t.ibd": "y", "ibtmp1": "z"}
	hash := func(change map[string]string) string {
		t.Helper()
		files := map[string]string{}
		for k, v := range base {
			files[k] = v
		}
		for k, v := range change {
			files[k] = v
		}
		sum, err := hashDataDir(t.Context(), memo.Store{}, tree(t, files))
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	plain := hash(nil)
	for name, c := range map[string]struct {
		change map[string]string
		same   bool
	}{
		"nothing": {nil, true}, "a temporary file": {map[string]string{"ibtmp1": "other"}, true},
		"content": {map[string]string{"shop/t.ibd": "Y"}, false}, "a file": {map[string]string{"shop/u.ibd": ""}, false},
		"a database": {map[string]string{"empty/": ""}, false},
	} {
		if (hash(c.change) == plain) != c.same {
			t.Errorf("%s: same hash is %v", name, !c.same)
		}
	}
}

// redo is the head of a redo log that says who made it.
func redo(creator string) string {
	b := make([]byte, 512)
	copy(b[16:], creator)
	return string(b)
}

func TestCheckMaker(t *testing.T) {
	for creator, ok := range map[string]bool{
		"MariaDB 10.11.6": true, "MariaDB 10.11.99": true, "MariaDB 10.6.1": true, "MariaDB 11.0.1": false, "MySQL 5.7.44": false, "": true,
	} {
		_, err := checkMaker(tree(t, map[string]string{"ib_logfile0": redo(creator)}), mariadb(10, 11, 14))
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("%q: got %v", creator, err)
		}
	}
}

// TestPageSize knows the flags of both layouts, as 10.11 wrote them for each size.
func TestPageSize(t *testing.T) {
	for name, c := range map[string]struct {
		flags uint32
		want  int
	}{
		"full_crc32, 4K": {0x13, 4096}, "full_crc32, 8K": {0x14, 8192}, "full_crc32, 16K": {0x15, 0},
		"full_crc32, 32K": {0x16, 32768}, "full_crc32, 64K": {0x17, 65536}, "full_crc32, 4K, compressed": {0x33, 4096},
		"original, 4K": {3 << 6, 4096}, "original, 8K": {4 << 6, 8192}, "original, 16K": {0, 0}, "original, 64K": {7 << 6, 65536},
	} {
		b := make([]byte, 1024)
		binary.BigEndian.PutUint32(b[38+16:], c.flags)
		got, err := pageSize(tree(t, map[string]string{"ibdata1": string(b)}))
		if err != nil || got != c.want {
			t.Errorf("%s: got %d, %v, want %d", name, got, err, c.want)
		}
	}
	if _, err := pageSize(tree(t, map[string]string{"ibdata1": "short"})); err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("got %v", err)
	}
	if got, err := pageSize(t.TempDir()); got != 0 || err != nil {
		t.Errorf("without a system tablespace: %d, %v", got, err)
	}
}

// TestDataDirByLink: a data directory that is given by a link is read as what the link leads to, and is as large as its
// blocks.
func TestDataDirByLink(t *testing.T) {
	dir := tree(t, map[string]string{"ibdata1": "", "mysql/db.frm": "x", "shop/t.ibd": "y"})
	if err := os.Truncate(filepath.Join(dir, "ibdata1"), 100<<30); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	in, err := lookAtPath(link)
	if err != nil || len(in) != 1 || in[0].kind != kindDataDir {
		t.Fatalf("%v, %v", in, err)
	}
	got, err := walked(t, in[0].path)
	if diff := cmp.Diff([]string{"ibdata1", "mysql/", "mysql/db.frm", "shop/", "shop/t.ibd"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	b := &build{plan: &plan{inputs: in}}
	if need, err := b.estimate(t.Context()); err != nil || need > baseRoom+1<<20 {
		t.Errorf("100 GB of holes count: %d bytes, %v", need, err)
	}
}
