package pool_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// narrow puts the pool of a house into a volume with room for so many bytes besides its clones,
// negative for a volume of unknown size; it returns that number, which may be changed.
func (h *house) narrow(bytes int64) *atomic.Int64 {
	h.t.Helper()
	h.Close()
	var base atomic.Int64
	base.Store(bytes)
	h.config.Room = func() (int64, error) {
		room := base.Load()
		if room < 0 {
			return 0, errors.New("size unknown")
		}
		clones, err := filepath.Glob(filepath.Join(h.config.DataDir, "s*_[0-9]*"))
		for _, dir := range clones {
			used, _ := sys.DiskUsage(dir)
			room -= used
		}
		return room, err
	}
	h.open()
	return &base
}

// comings is how many databases were made and dropped since the server began.
func (h *house) comings() (n string) {
	h.t.Helper()
	err := dbconn.Query(h.t.Context(), h.root, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_create_db', 'Com_drop_db')", func(row []string) error {
		n += strings.Join(row, " ") + " "
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// spares is how many spare clones there are of all templates.
func (h *house) spares() (n int) {
	for _, t := range h.Templates() {
		n += t.Spare
	}
	return n
}

// TestRoom has room become short and come back: spare clones go and come with it, and are not
// made and removed by turns where it is just short.
func TestRoom(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		for _, text := range []string{"CREATE DATABASE small", "CREATE TABLE small.one (id int PRIMARY KEY)"} {
			h.exec(h.root, text)
		}
		room := h.narrow(1 << 40)
		h.limit(64, 2)
		h.put("shop")
		h.put("small")
		var sizes [2]int64
		for i, template := range h.Templates() {
			if sizes[i] = template.Bytes; sizes[i] < 64<<10 {
				t.Fatalf("%s takes %d bytes, and is files", template.Name, sizes[i])
			}
		}
		shop, small := sizes[0], sizes[1]
		all := 2*shop + 2*small // what two clones of each take
		counts := func() string {
			var list []string
			for _, template := range h.Templates() {
				list = append(list, strconv.Itoa(template.Spare))
			}
			return strings.Join(list, " ")
		}
		for _, step := range []struct {
			what string
			room int64
			want string // how many there are of each in the end
		}{
			{"more than enough", 1 << 40, "2 2"},
			{"unknown", -1, "2 2"},
			{"too little to make any, and enough to keep them", 5 * all, "2 2"},
			{"none", 0, "0 0"},
			{"just not enough for one", 8*small - 1, "0 0"},
			{"enough for one of those that are small", 8 * small, "0 1"},
			{"too little to make that one, and enough to keep it", 5 * small, "0 1"},
			{"enough for both of these and one that is larger", 8*(shop+2*small) + 4*small, "1 2"},
			{"enough for all", 9 * all, "2 2"},
		} {
			room.Store(step.room)
			h.soon("spare clones, with room "+step.what+": "+step.want, func() bool {
				h.Maintain()
				return counts() == step.want && len(h.databases("shop_"))+len(h.databases("small_")) == h.spares()
			})
			before := h.comings()
			for range 20 {
				h.Maintain()
				time.Sleep(5 * time.Millisecond)
			}
			if got := counts(); got != step.want || h.comings() != before {
				t.Errorf("room: %s: the numbers of clones do not stay %s, but are %s; made and dropped: %s, now %s", step.what, step.want, got, before, h.comings())
			}
		}
		room.Store(-1) // what was known last counts
		h.limit(64, 0)
		h.soon("no spare clones", func() bool { return h.spares() == 0 })
		h.limit(64, 2)
		h.soon("spare clones by the room that there was last", func() bool { h.Maintain(); return counts() == "2 2" })
	})
}

// TestRoomOfMany has no room at all left for the spare clones of several templates: each by itself
// has little, and all must go.
func TestRoomOfMany(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	var names []string
	for _, name := range []string{"s1", "s2", "s3", "s4"} {
		h.exec(h.root, "CREATE DATABASE "+name)
		h.exec(h.root, "CREATE TABLE "+name+".one (id int PRIMARY KEY)")
		names = append(names, name)
	}
	room := h.narrow(1 << 40)
	h.limit(64, 6)
	for _, name := range names {
		h.put(name)
	}
	h.soon("24 spare clones", func() bool { return h.spares() == 24 })
	room.Store(0)
	h.soon("none of them", func() bool {
		h.Maintain()
		left := h.spares()
		for _, name := range names {
			left += len(h.databases(name + "_"))
		}
		return left == 0
	})
}

// TestTrimmed: the pool removes as many clones as take too much room, and no more until these are
// gone, since their room is not there at once.
func TestTrimmed(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	room := h.narrow(1 << 40)
	h.limit(64, 8)
	h.put("shop")
	h.stocked(8)
	size := h.Templates()[0].Bytes
	room.Store(14 * size) // for three
	letGo := h.hold()     // no clone can be removed
	for range 10 {
		h.Maintain()
	}
	if n := h.spares(); n != 3 {
		t.Errorf("while the others are being removed %d are left of 8, not 3", n)
	}
	letGo()
	h.soon("3 spare clones", func() bool {
		h.Maintain()
		return h.spares() == 3 && len(h.databases("shop_")) == 3
	})
	for range 10 {
		h.Maintain()
	}
	h.stocked(3)
}

// TestRests has none made for a while after a spare clone that could not be made, and then again.
func TestRests(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	var tries atomic.Int64
	h.config.Log = slog.New(slog.NewTextHandler(writer(func(line []byte) {
		if bytes.Contains(line, []byte("cannot make a clone")) {
			tries.Add(1)
		}
	}), nil))
	dir := filepath.Join(t.TempDir(), "of the pool")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h.config.File = filepath.Join(dir, "pool.json")
	room := h.narrow(0)
	h.limit(64, 2)
	h.put("shop")
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	room.Store(1 << 40)
	for range 100 {
		h.Maintain()
		time.Sleep(time.Millisecond)
	}
	if n := len(h.databases("shop_")); n != 0 {
		t.Errorf("there are %d clones that cannot be written down", n)
	}
	if n := tries.Load(); n < 1 || n > 3 { // one, and others only where this took seconds
		t.Errorf("meanwhile %d were tried to be made", n)
	}
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	h.stocked(2) // unasked
}

// writer is an io.Writer of a function.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// TestOfChanged has no spare clone made of a template that was changed, again and again.
func TestOfChanged(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	room := h.narrow(0)
	h.limit(64, 2)
	h.put("shop")
	h.exec(h.root, "ALTER TABLE shop.item ADD COLUMN more int")
	h.soon("a changed template", func() bool { return h.Templates()[0].Changed != "" })
	before := h.comings()
	room.Store(1 << 40)
	for range 20 {
		h.Maintain()
		time.Sleep(5 * time.Millisecond)
	}
	if now := h.comings(); now != before {
		t.Errorf("made and dropped: %s, now %s", before, now)
	}
	h.put("shop")
	h.stocked(2)
}
