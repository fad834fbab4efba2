package binlog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFiles lists by number, and nothing that the server did not number.
func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data[1]")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := Files(dir, "a*-bin"); err != nil || got != nil {
		t.Errorf("in an empty directory: %q, %v", got, err)
	}
	for _, name := range []string{
		"a*-bin.1000000", "a*-bin.999999", "a*-bin.000010", "a*-bin.000009",
		"a*-bin.index", "a*-bin.000011.old", "a*-bin.0x", "a*-bin.000011\n", "a*-bin.000011'; --", "a*-bin.+5", "a*-bin.4294967296", "a*-bin.1.2",
		"ab-bin.000001", "b-bin.000001", "xa*-bin.000001", "a*-bin000001",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Files(dir, "a*-bin")
	if d := cmp.Diff([]string{"a*-bin.000009", "a*-bin.000010", "a*-bin.999999", "a*-bin.1000000"}, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}
