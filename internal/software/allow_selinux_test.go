package software

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ramaria-db/ramaria/internal/host"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// policy plants a machine with SELinux, and programs in the place of those of the policy: semodule lists or drops the
// labels, and refuses a module with the word "refused".
func policy(t *testing.T) (h host.Host, calls func() string) {
	t.Helper()
	root, bin := t.TempDir(), t.TempDir()
	contexts := filepath.Join(root, "etc/selinux/default/contexts/files/file_contexts")
	for path, text := range map[string]string{
		filepath.Join(root, "etc/selinux/config"): "SELINUX=enforcing\nSELINUXTYPE=default\n", contexts: "/run/.*\tsystem_u:object_r:var_run_t:s0\n",
		filepath.Join(root, "sys/fs/selinux/enforce"): "1", filepath.Join(root, "usr/sbin/mariadbd"): "", filepath.Join(root, "run/ramaria/x"): "",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, label := range map[string]string{"usr/sbin/mariadbd": daemonType, "run": "var_run_t", ".": "root_t"} {
		if err := unix.Setxattr(filepath.Join(root, path), "security.selinux", []byte("system_u:object_r:"+label+":s0\x00"), 0); err != nil {
			t.Skipf("SKIPPED, UNTESTED: the module for SELinux, since labels cannot be set here: %v", err)
		}
	}
	script := `#!/bin/sh
echo "$(basename $0) $*" | sed -E 's|/[^ ]*/(ramaria.cil)|\1|; s|` + root + `||' >>` + bin + `/calls
case "$0 $1" in
*/semodule\ --install) ! grep -q refused "$2" && { [ -e ` + bin + `/before ] || cp ` + contexts + ` ` + bin + `/before; } && printf '/run/ramaria(/.*)?\tx\n' >>` + contexts + ` ;;
*/semodule\ --remove) cp ` + bin + `/before ` + contexts + ` ;;
esac
`
	for _, name := range []string{"semodule", "restorecon"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil { // #nosec G306 -- a program
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return host.Host{Root: root}, func() string {
		b, _ := os.ReadFile(filepath.Join(bin, "calls"))
		_ = os.Remove(filepath.Join(bin, "calls"))
		return string(b)
	}
}

func TestAllowSELinux(t *testing.T) {
	h, calls := policy(t)
	const daemon = "/usr/sbin/mariadbd"
	if why, confined := Confinement(h, daemon); !confined {
		t.Fatalf("not confined: %q", why)
	}
	s := seLinuxModule{h, daemon}
	file := filepath.Join(h.Root, moduleFile)
	if changed, err := s.Disallow(t.Context()); changed || err != nil {
		t.Errorf("disallow what was not allowed: %v, %v", changed, err)
	}
	dirs := []string{"/run/ramaria", "/dev/shm/ramaria-*", "/srv/a.b/ramaria"}
	if changed, err := s.Allow(t.Context(), dirs); !changed || err != nil {
		t.Fatalf("allow: %v, %v", changed, err)
	}
	if diff := cmp.Diff("semodule --install ramaria.cil\nrestorecon -R /run/ramaria\n", calls()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	golden := filepath.Join("testdata", "selinux.cil")
	if *update {
		if err := os.WriteFile(golden, []byte(read(t, file)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, golden), read(t, file)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if why, confined := Confinement(h, daemon); confined || !strings.Contains(why, "with ramaria's places") {
		t.Errorf("confined still: %q", why)
	}
	if changed, err := s.Allow(t.Context(), dirs[:1]); changed || err != nil || calls() != "" {
		t.Errorf("allow what is allowed: %v, %v", changed, err)
	}
	if changed, err := s.Allow(t.Context(), []string{"/srv/home"}); !changed || err != nil || !strings.Contains(read(t, file), "/srv/a\\.b/ramaria(/.*)?") {
		t.Errorf("another home: %v, %v, %s", changed, err, read(t, file))
	}
	was := read(t, file)
	if _, err := s.Allow(t.Context(), []string{"/srv/refused"}); err == nil || read(t, file) != was {
		t.Errorf("a module that semodule refuses: %v, and the file has %s", err, read(t, file))
	}
	if changed, err := s.Disallow(t.Context()); !changed || err != nil || read(t, file) != "none" {
		t.Errorf("disallow: %v, %v", changed, err)
	}
	if _, confined := Confinement(h, daemon); !confined {
		t.Error("not confined after disallow")
	}
}

// TestModuleCompiles has the compiler of the policy read the module, beside a policy that has no more than its types.
func TestModuleCompiles(t *testing.T) {
	secilc, err := exec.LookPath("secilc")
	if err != nil {
		t.Skip("SKIPPED, UNTESTED: whether the module for SELinux compiles: no secilc (Debian: secilc)")
	}
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), secilc, "-M", "true", "-o", filepath.Join(dir, "policy"), "-f", filepath.Join(dir, "contexts"), "testdata/base.cil", "testdata/selinux.cil").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := read(t, filepath.Join(dir, "contexts")); !strings.Contains("\n"+got, moduleMark) {
		t.Errorf("labels are %q", got)
	}
}
