package binlog

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSize counts the files of the log, and no others.
func TestSize(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"log.000001": 100, "log.000002": 20, "log.index": 1000, "log.000003.old": 1000, "t.ibd": 1000} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for where, want := range map[string]int64{dir: 120, filepath.Join(dir, "gone"): 0} {
		if got, err := Size(where, "log"); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", where, got, err, want)
		}
	}
}
