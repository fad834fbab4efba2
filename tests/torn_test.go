package tests

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Where InnoDB keeps its doublewrite buffer: two blocks of 64 pages in ibdata1,
// whose first pages the transaction system's page names (storage/innobase/include/
// trx0sys.h in the server's source).
const (
	innodbPage   = 16 << 10
	trxSysPage   = 5
	dblwrFields  = innodbPage - 200 + 10
	dblwrMagic   = 536853855
	dblwrBlock   = 64
	pageNumberAt = 4
	pageLSNAt    = 16
	pageSpaceAt  = 34
	tornBytes    = innodbPage / 2
	tornAttempts = 10
	// From MariaDB 10.8 on, the redo log has its checkpoints' LSN here.
	redoCheckpoint1 = 4096
	redoCheckpoint2 = 8192
	tornDatabase    = "app"
	tornTablespace  = "page.ibd"
)

// TestTornPageIsMended tears a page by hand in the data directory of a killed
// server, as a kill in the middle of its write does: `up` mends it, and so does an
// instance that is made from a copy of that directory. Where the doublewrite buffer
// is wiped too, the damage must show.
func TestTornPageIsMended(t *testing.T) {
	h := newHouse(t)
	k := newKilled(h, "")
	data := k.data()
	torn := false
	for range tornAttempts {
		k.loadAndKill(t, "server")
		if torn = tear(t, data); torn {
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
	wipe(t, filepath.Join(lost, "ibdata1"))

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
func tear(t *testing.T, data string) bool {
	t.Helper()
	system, err := os.ReadFile(filepath.Join(data, "ibdata1"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(data, tornDatabase, tornTablespace)
	pages, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	space := binary.BigEndian.Uint32(pages[pageSpaceAt:])
	// Pages from before the checkpoint were synced: they cannot be torn, so recovery
	// does not look at them.
	newest, number := checkpoint(t, filepath.Join(data, "ib_logfile0")), 0
	for _, at := range dblwrPages(t, system) {
		page := system[at : at+innodbPage]
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
func checkpoint(t *testing.T, path string) uint64 {
	t.Helper()
	redo, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return max(binary.BigEndian.Uint64(redo[redoCheckpoint1:]), binary.BigEndian.Uint64(redo[redoCheckpoint2:]))
}

// dblwrPages returns the offsets of the doublewrite buffer's pages.
func dblwrPages(t *testing.T, system []byte) []int {
	t.Helper()
	fields := system[trxSysPage*innodbPage+dblwrFields:]
	if magic := binary.BigEndian.Uint32(fields); magic != dblwrMagic {
		t.Fatalf("no doublewrite buffer in ibdata1: magic number %d", magic)
	}
	var list []int
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
	for _, at := range dblwrPages(t, system) {
		copy(system[at:], make([]byte, innodbPage))
	}
	if err := os.WriteFile(path, system, 0o600); err != nil {
		t.Fatal(err)
	}
}
