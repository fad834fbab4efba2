package sys

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestGlob(t *testing.T) {
	for _, name := range []string{"plain", "[a", "a[b]*?c", `back\slash`} {
		dir := filepath.Join(t.TempDir(), name)
		for _, file := range []string{"log.000001", "log.000002", "log.index", "deep/x.so"} {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for pattern, want := range map[string][]string{"log.[0-9]*": {"log.000001", "log.000002"}, "d*/*.so": {"deep/x.so"}, "none*": nil} {
			got, err := Glob(dir, pattern)
			for i := range got {
				got[i], _ = filepath.Rel(dir, got[i])
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s in %s: got %q, %v, want %q", pattern, name, got, err, want)
			}
		}
	}
	if got, err := Glob(filepath.Join(t.TempDir(), "none"), "*"); len(got) > 0 || err != nil {
		t.Errorf("of a directory that is not there: %q, %v", got, err)
	}
}
