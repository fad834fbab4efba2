package instance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPIKeys: certificate and token are made once, nobody else can read them, and what was damaged is not made again
// unseen: clients would not know it.
func TestAPIKeys(t *testing.T) {
	r := &Record{Name: "shop", Dir: t.TempDir(), Spec: Spec{APIListen: "192.168.1.5:3443"}}
	if k, err := r.APIKeys(); k != nil || err != nil {
		t.Errorf("before the first start: %v, %v", k, err)
	}
	if where, k, err := r.RemoteAPI(); where != "" || k != nil || err != nil {
		t.Errorf("before the first start it is at %q, %v, %v", where, k, err)
	}
	made, err := r.MakeAPIKeys()
	if err != nil || len(made.Token) < 26 {
		t.Fatalf("made %v, %v", made, err)
	}
	again, err := r.MakeAPIKeys()
	if err != nil || *again != *made {
		t.Errorf("the second start has others, or %v", err)
	}
	path := filepath.Join(r.Dir, "api.json")
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", path, fi, err)
	}
	where, k, err := r.RemoteAPI()
	if err != nil || !strings.HasPrefix(where, "https://192.168.1.5:3443#sha256=") || k.Token != made.Token {
		t.Errorf("it is at %s, %v", where, err)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, all := range []string{":3443", "0.0.0.0:3443", "[::]:3443"} {
		r.Spec.APIListen = all
		if where, _, err := r.RemoteAPI(); err != nil || !strings.HasPrefix(where, "https://"+name+":3443#") {
			t.Errorf("listening at %s it is at %s, %v", all, where, err)
		}
	}
	r.Spec.APIListen = ""
	if where, _, err := r.RemoteAPI(); where != "" || err != nil {
		t.Errorf("not open, it is at %s, %v", where, err)
	}
	for _, text := range []string{"", "{", `{"format":1}`, `{"format":2,"token":"t"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if k, err := r.MakeAPIKeys(); err == nil || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("of %q it makes %v, %v", text, k, err)
		}
	}
}

func TestParseAPIListen(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "off": "", "192.168.1.5:3443": "192.168.1.5:3443", ":3443": ":3443", "[::1]:1": "[::1]:1", "localhost:65535": "localhost:65535", "0.0.0.0:3443": "0.0.0.0:3443",
	} {
		if got, err := ParseAPIListen(text); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"3443": "it is not ADDRESS:PORT", "db1:3443": "db1 is not an address", "1.2.3.4:0": "ports are", "1.2.3.4:65536": "ports are", "1.2.3.4:x": "ports are", "on": "it is not ADDRESS:PORT",
		"https://1.2.3.4:1": "it is not ADDRESS:PORT", "1.2.3.4:": "ports are",
	} {
		if got, err := ParseAPIListen(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
