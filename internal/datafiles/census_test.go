package datafiles

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const mb = 1 << 20

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// put writes files of so many MB.
func write(t *testing.T, dir string, files map[string]int) {
	t.Helper()
	for name, size := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size*mb), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// told is a report without what is smaller than 1 MB.
func told(list []Use) (out []string) {
	for _, u := range list {
		if u.Bytes >= mb {
			out = append(out, fmt.Sprintf("%s %d +%d", u, u.Bytes/mb, u.Grown/mb))
		}
	}
	return out
}

func take(t *testing.T, c *Census, dir string, at time.Duration) Report {
	t.Helper()
	r, err := c.Take(dir, noon.Add(at))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCensus(t *testing.T) {
	dir := t.TempDir()
	c := &Census{Binlog: "log"}
	write(t, dir, map[string]int{"shop/orders.ibd": 3, "shop/p#p#p0.ibd": 1, "shop/p#p#p1.ibd": 1, "ibdata1": 4, "log.000001": 1, "shop/gone.ibd": 2, "a/b/deep": 1})
	r := take(t, c, dir, 0)
	if r.Grown != nil || r.Items != 5 || r.Files != 6 || r.Bytes < 12*mb || !r.Since.Equal(noon) {
		t.Errorf("at first: %+v", r)
	}
	if d := cmp.Diff([]string{"system tablespace 4 +0", "shop.orders 3 +0", "shop.p 2 +0", "shop.gone 2 +0", "binary log 1 +0"}, told(r.Largest)); d != "" {
		// Two of one size come in any order.
		if d := cmp.Diff([]string{"system tablespace 4 +0", "shop.orders 3 +0", "shop.gone 2 +0", "shop.p 2 +0", "binary log 1 +0"}, told(r.Largest)); d != "" {
			t.Error(d)
		}
	}
	write(t, dir, map[string]int{"shop/orders.ibd": 5, "shop/p#p#p1.ibd": 4, "log.000002": 1, "shop/#sql-ib5.ibd": 7, "big.ibd": 6})
	if err := os.Remove(filepath.Join(dir, "shop/gone.ibd")); err != nil {
		t.Fatal(err)
	}
	want := []string{"ALTER in shop 7 +7", "tablespace big 6 +6", "shop.p 5 +3", "shop.orders 5 +2", "binary log 2 +1"}
	for _, at := range []time.Duration{time.Minute, 29 * time.Minute, 31 * time.Minute, 59 * time.Minute} {
		r = take(t, c, dir, at)
		if d := cmp.Diff(want, told(r.Grown)); d != "" || !r.Since.Equal(noon) {
			t.Errorf("after %s, since %s: %s", at, r.Since, d)
		}
		if d := cmp.Diff([]string{"shop.* 17 +12"}, told(r.Databases)); d != "" {
			t.Error(d)
		}
	}
	// What grew an hour ago is forgotten.
	r = take(t, c, dir, 62*time.Minute)
	if r.Grown != nil || !r.Since.Equal(noon.Add(31*time.Minute)) {
		t.Errorf("after an hour, since %s: %v", r.Since, told(r.Grown))
	}
}

// TestCensusOfNothing: a data directory that is swapped out for another is no error.
func TestCensusOfNothing(t *testing.T) {
	if r := take(t, &Census{}, filepath.Join(t.TempDir(), "none"), 0); r.Files != 0 {
		t.Errorf("%+v", r)
	}
}

// TestCensusFollowsNoLink: the server can put a link in the place of anything.
func TestCensusFollowsNoLink(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, other, map[string]int{"t.ibd": 8})
	for name, to := range map[string]string{"db": other, "ibdata1": filepath.Join(other, "t.ibd")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if r := take(t, &Census{}, dir, 0); r.Bytes >= mb {
		t.Errorf("%+v", r)
	}
}

// BenchmarkCensus20000 is what a look at 20,000 tables costs.
func BenchmarkCensus20000(b *testing.B) {
	dir := b.TempDir()
	if fi, err := os.Stat("/dev/shm"); err == nil && fi.IsDir() {
		if dir, err = os.MkdirTemp("/dev/shm", "census-"); err != nil {
			b.Fatal(err)
		}
		defer os.RemoveAll(dir)
	}
	for d := range 20 {
		sub := filepath.Join(dir, fmt.Sprintf("shop_%d", d))
		if err := os.Mkdir(sub, 0o700); err != nil {
			b.Fatal(err)
		}
		for t := range 1000 {
			for _, suffix := range []string{".ibd", ".frm"} {
				if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("order_items_%d%s", t, suffix)), []byte("x"), 0o600); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	c := &Census{Binlog: "log"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Take(dir, noon); err != nil {
			b.Fatal(err)
		}
	}
}
