package reset_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
)

// rowFile writes to the file of rows of a table, as a server does.
func rowFile(t *testing.T, dir, table string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, table+".MYD"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString("row")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLook tells which tables were written to by their files, whatever the directory of the database is called; all of
// them where it cannot tell.
func TestLook(t *testing.T) {
	for _, c := range []struct{ name, dir string }{{"shop", "shop"}, {"my-shop", "my@002dshop"}, {"my shöp", "my@0020sh@1ip"}} {
		data := t.TempDir()
		dir := filepath.Join(data, c.dir)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"a", "b", "c@002dd"} {
			rowFile(t, dir, table)
		}
		j := reset.RowFiles(data, c.name, "a", "b", "c-d")
		look := func(what string, want ...string) {
			t.Helper()
			if got := j.Look(c.name); !slices.Equal(got, want) {
				t.Errorf("%s: %s: %q, want %q", c.name, what, got, want)
			}
			j.Forgive(c.name)
		}
		look("marked")
		rowFile(t, dir, "b")
		look("written", "b")
		look("looked at")
		rowFile(t, dir, "c@002dd")
		look("a name that its file has otherwise", "a", "b", "c-d")
		look("looked at again")
		if err := os.Rename(dir, dir+"x"); err != nil {
			t.Fatal(err)
		}
		look("without its directory", "a", "b", "c-d")
	}
}

// TestLookTogether has several look at a database that was written to: none of them takes it for unwritten.
func TestLookTogether(t *testing.T) {
	data := t.TempDir()
	dir := filepath.Join(data, "shop")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	rowFile(t, dir, "a")
	j := reset.RowFiles(data, "shop", "a")
	const rounds, lookers = 2000, 4
	for range rounds {
		rowFile(t, dir, "a")
		var all sync.WaitGroup
		var unseen [lookers]bool
		for n := range lookers {
			all.Go(func() { unseen[n] = len(j.Look("shop")) == 0 })
		}
		all.Wait()
		if slices.Contains(unseen[:], true) {
			t.Fatal("one found nothing while another had not noted it yet")
		}
		j.Forgive("shop")
	}
}
