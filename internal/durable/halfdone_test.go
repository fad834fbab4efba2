package durable

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestUnpartitioned: a snapshot in which a table lacks its partitions is no base, unless the instance lacks them, too.
func TestUnpartitioned(t *testing.T) {
	t.Parallel()
	const table, view = "\xfe\x01\x0a partition PARTITION BY KEY (`a`)\nPARTITIONS 3", "TYPE=VIEW\nquery=select rank() over ( PARTITION BY a)"
	lay := func(dir string, files map[string]string) {
		t.Helper()
		for name, text := range files {
			path := filepath.Join(dir, "d", name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole := map[string]string{"t.frm": table, "t.par": "x", "v.frm": view, "u.frm": "\xfe\x01\x0a"}
	cut := map[string]string{"t.frm": table, "v.frm": view}
	for name, c := range map[string]struct {
		snapshot, live map[string]string
		refused        bool
	}{
		"whole":                       {whole, whole, false},
		"cut":                         {cut, whole, true},
		"cut, and dropped since":      {cut, map[string]string{"v.frm": view}, true},
		"cut, as the instance has it": {cut, cut, false},
	} {
		i := &instance.Instance{Record: instance.Record{Dir: t.TempDir()}}
		s := &Snapshot{Instance: i, DataDir: t.TempDir()}
		lay(s.DataDir, c.snapshot)
		lay(i.DataDir(), c.live)
		if err := s.unpartitioned(); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
