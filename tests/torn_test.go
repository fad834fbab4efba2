package tests

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
)

// Where InnoDB keeps its doublewrite buffer: in MariaDB two blocks of 64 pages in
// ibdata1, whose first pages the transaction system's page names (storage/innobase/
// include/trx0sys.h in the server's source); in MySQL since 8.0.20 files of pages.
const (
	innodbPage     = 16 << 10
	trxSysPage     = 5
	dblwrFields    = innodbPage - 200 + 10
	dblwrMagic     = 536853855
	dblwrBlock     = 64
	pageNumberAt   = 4
	pageLSNAt      = 16
	pageSpaceAt    = 34
	tornBytes      = innodbPage / 2
	tornAttempts   = 10
	tornDatabase   = "app"
	tornTablespace = "page.ibd"
)

// redoCheckpoints are the places in a file of the redo log that have the LSN of a
// checkpoint, of MariaDB from 10.8 on, and of MySQL from 8.0.30 on (blocks 1 and 3,
// behind 8 bytes: storage/innobase/include/log0constants.h).
var redoCheckpoints = map[server.Flavour][]int{
	server.MariaDB: {4096, 8192},
	server.MySQL:   {512 + 8, 1536 + 8},
}

// redoLogs are the files of the redo log in a data directory, of either flavour.
func redoLogs(t *testing.T, data string) (list []string) {
	t.Helper()
	for _, pattern := range []string{"ib_logfile0", "#innodb_redo/#ib_redo*[0-9]"} {
		found, err := filepath.Glob(filepath.Join(data, pattern))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	if len(list) == 0 {
		t.Fatalf("no redo log in %s", data)
	}
	return list
}

// dblwrFiles are those that hold the doublewrite buffer.
func dblwrFiles(t *testing.T, data string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(data, "#ib_*.dblwr"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		found = []string{filepath.Join(data, "ibdata1")}
	}
	return found
}

// TestTornPageIsMended tears a page by hand in the data directory of a killed
// server, as a kill in the middle of its write does: `up` mends it, and so does an
// instance that is made from a copy of that directory. Where the doublewrite buffer
// is wiped too, the damage must show.
func TestTornPageIsMended(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	set := ""
	if h.srv.Flavour == server.MySQL {
		set = "log_error_verbosity=3" // or its log does not tell of mended pages
	}
	k := newKilled(h, set)
	data := k.data()
	torn := false
	for range tornAttempts {
		k.loadAndKill(t, "server")
		if torn = tear(t, h.srv.Flavour, data); torn {
			break
		}
		// The last pages that were written are all of other tables.
		if err := k.recover(t); err != nil {
			t.Fatal(err)
		}
	}
	if !torn {
		t.Fatalf("no page to tear after %d kills", tornAttempts)
	}
	mendable, lost := filepath.Join(h.home, "mendable"), filepath.Join(h.home, "lost")
	for _, copied := range []string{mendable, lost} {
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", data, copied).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v: %s", err, out)
		}
	}
	for _, path := range dblwrFiles(t, lost) {
		wipe(t, path)
	}

	if err := k.recover(t); err != nil {
		t.Errorf("the torn page was not mended: %v", err)
	}
	if k.mended() == 0 {
		t.Error("the log of the server does not tell of a mended page")
	}
	// The same server on the copies.
	for _, test := range []struct {
		dir  string
		lost bool
	}{{mendable, false}, {lost, true}} {
		if test.lost && h.srv.Flavour == server.MySQL {
			// It rebuilds pages from the redo log alone if they are new since the checkpoint,
			// and waits for ever for others: the damage need not show, or end.
			continue
		}
		name := filepath.Base(test.dir)
		out, talk, err := h.try("up", name, "--from", test.dir, "--server", h.daemon())
		if err == nil {
			err = k.settled(t.Context(), openDSN(t, out))
		}
		if (err != nil) != test.lost {
			t.Errorf("instance made from the directory %s: %v\n%s", name, err, talk)
		}
	}
}

// tear spoils the second half of the page that was written last, if the
// doublewrite buffer has it.
func tear(t *testing.T, flavour server.Flavour, data string) bool {
	t.Helper()
	path := filepath.Join(data, tornDatabase, tornTablespace)
	pages, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	space := binary.BigEndian.Uint32(pages[pageSpaceAt:])
	// Pages from before the checkpoint were synced: they cannot be torn, so recovery
	// does not look at them.
	newest, number := checkpoint(t, flavour, data), 0
	var buffered [][]byte
	for _, file := range dblwrFiles(t, data) {
		buffer, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range dblwrPages(t, file, buffer) {
			buffered = append(buffered, buffer[at:at+innodbPage])
		}
	}
	for _, page := range buffered {
		lsn := binary.BigEndian.Uint64(page[pageLSNAt:])
		n := int(binary.BigEndian.Uint32(page[pageNumberAt:]))
		if lsn <= newest || binary.BigEndian.Uint32(page[pageSpaceAt:]) != space {
			continue
		}
		newest, number = lsn, 0
		if n > 0 && (n+1)*innodbPage <= len(pages) && bytes.Equal(page, pages[n*innodbPage:(n+1)*innodbPage]) {
			number = n
		}
	}
	if number == 0 {
		return false
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xee}, tornBytes), int64(number)*innodbPage+innodbPage-tornBytes); err != nil {
		t.Fatal(err)
	}
	t.Logf("tore page %d of %s", number, tornTablespace)
	return true
}

// checkpoint returns the LSN up to which every page is in its file.
func checkpoint(t *testing.T, flavour server.Flavour, data string) (lsn uint64) {
	t.Helper()
	for _, path := range redoLogs(t, data) {
		redo, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range redoCheckpoints[flavour] {
			lsn = max(lsn, binary.BigEndian.Uint64(redo[at:]))
		}
	}
	return lsn
}

// dblwrPages returns the offsets of the doublewrite buffer's pages in a file: all, but
// for ibdata1.
func dblwrPages(t *testing.T, path string, system []byte) []int {
	t.Helper()
	var list []int
	if filepath.Base(path) != "ibdata1" {
		for at := 0; at+innodbPage <= len(system); at += innodbPage {
			list = append(list, at)
		}
		return list
	}
	fields := system[trxSysPage*innodbPage+dblwrFields:]
	if magic := binary.BigEndian.Uint32(fields); magic != dblwrMagic {
		t.Fatalf("no doublewrite buffer in ibdata1: magic number %d", magic)
	}
	for block := range 2 {
		first := int(binary.BigEndian.Uint32(fields[4+4*block:]))
		for n := range dblwrBlock {
			if at := (first + n) * innodbPage; at+innodbPage <= len(system) {
				list = append(list, at)
			}
		}
	}
	return list
}

// wipe fills the doublewrite buffer with zeros.
func wipe(t *testing.T, path string) {
	t.Helper()
	system, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range dblwrPages(t, path, system) {
		copy(system[at:], make([]byte, innodbPage))
	}
	if err := os.WriteFile(path, system, 0o600); err != nil {
		t.Fatal(err)
	}
}
