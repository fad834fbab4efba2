package software

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
)

// parser puts a program in the place of the parser, which leaves its arguments in a file, and fails if the
// rules have the word "refused".
func parser(t *testing.T, root string) (calls func() string) {
	t.Helper()
	bin := t.TempDir()
	script := "#!/bin/sh\necho \"$@\" >>" + bin + "/calls\n! grep -qs refused " + root + "/etc/apparmor.d/local/mariadbd\n"
	if err := os.WriteFile(filepath.Join(bin, "apparmor_parser"), []byte(script), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return func() string {
		b, _ := os.ReadFile(filepath.Join(bin, "calls"))
		return string(b)
	}
}

func TestAllowAppArmor(t *testing.T) {
	const profile = "profile mariadbd /usr/sbin/mariadbd {\n  include if exists <local/mariadbd>\n}\n"
	none := "none"
	for name, before := range map[string]string{"no file": none, "an empty file": "", "rules": "/srv/x r,\n", "a line without end": "/srv/x r,"} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			calls := parser(t, root)
			local := filepath.Join(root, "etc/apparmor.d/local/mariadbd")
			plant := map[string]string{filepath.Join(root, "etc/apparmor.d/mariadbd"): profile, filepath.Join(root, "sys/module/apparmor/parameters/enabled"): "Y\n"}
			if before != none {
				plant[local] = before
			}
			for path, text := range plant {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(filepath.Dir(local), 0o700); err != nil {
				t.Fatal(err)
			}
			h := host.Host{Root: root}
			found := h.AppArmorFor("/usr/sbin/mariadbd")
			if len(found) != 1 || appArmorAllows(h, found[0]) {
				t.Fatalf("found %+v, or it is allowed already", found)
			}
			s := appArmorRules{h, "/usr/sbin/mariadbd", found[0]}

			changed, err := s.Allow(t.Context(), []string{"/run/ramaria", `/srv/a [b] "c"`})
			if err != nil || !changed || !appArmorAllows(h, found[0]) {
				t.Fatalf("allow: %v, %v", changed, err)
			}
			if got := read(t, local); !strings.Contains(got, "\n\"/run/ramaria/**\" rwkl,\n") || !strings.Contains(got, `"/srv/a \[b\] \"c\"/" r,`) || before != none && !strings.HasPrefix(got, before) {
				t.Errorf("wrote %q", got)
			}
			if got := calls(); got != "--replace "+filepath.Join(root, "etc/apparmor.d/mariadbd")+"\n" {
				t.Errorf("called the parser with %q", got)
			}
			if changed, err := s.Allow(t.Context(), []string{"/run/ramaria"}); changed || err != nil {
				t.Errorf("allow what is allowed: %v, %v", changed, err)
			}
			was := read(t, local)
			if _, err := s.Allow(t.Context(), []string{"/srv/refused"}); err == nil || read(t, local) != was {
				t.Errorf("rules that the parser refuses: %v, and the file has %q", err, read(t, local))
			}
			if changed, err := s.Allow(t.Context(), []string{"/srv/home/volumes"}); !changed || err != nil || !strings.Contains(read(t, local), `"/srv/a \[b\] \"c\"/**"`) {
				t.Errorf("another home: %v, %v, %q", changed, err, read(t, local))
			}
			if changed, err := s.Disallow(t.Context()); !changed || err != nil || appArmorAllows(h, found[0]) {
				t.Errorf("disallow: %v, %v", changed, err)
			}
			if got := read(t, local); got != before {
				t.Errorf("afterwards it is %q, and was %q", got, before)
			}
			if changed, err := s.Disallow(t.Context()); changed || err != nil {
				t.Errorf("disallow again: %v, %v", changed, err)
			}
		})
	}
}

// read returns what a file has, "none" if there is none.
func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return "none"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
