package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/instance"
)

func TestLogin(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"s3cret\n": "s3cret", "a b'\r\n": "a b'", "x": "x", "": "", "\n": "", "a\nb\n": "", "a\x00": ""} {
		path := filepath.Join(dir, "pw")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := login(instance.Spec{User: "app", PasswordFile: path})
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "\nhint: ")):
			t.Errorf("%q: got %v, want an error with a hint", text, err)
		case want != "" && (err != nil || l.Password != want):
			t.Errorf("%q: got %q, %v", text, l.Password, err)
		}
	}
	a, err := login(instance.Spec{User: "app"})
	b, err2 := login(instance.Spec{User: "app"})
	if err != nil || err2 != nil || a.Password == b.Password || len(a.Password) < 20 {
		t.Errorf("without a file: %+v %+v", a, b)
	}
}
