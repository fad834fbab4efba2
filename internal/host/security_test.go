package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// plant writes a tree of files below a new root.
func plant(t *testing.T, files map[string]string) Host {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Host{Root: root}
}

// The shapes of what Ubuntu's mysql-server and Debian's mariadb-server install.
const (
	ubuntuProfile = `# vim:syntax=apparmor
#include <tunables/global>

/usr/sbin/mysqld {
  #include <abstractions/base>
  #include <abstractions/nameservice>
  capability setuid,
  network tcp,
  /etc/mysql/** r,
  /usr/lib/mysql/plugin/{,**/}*.so mr,
# Allow data dir access
  /var/lib/mysql/ r,
  /var/lib/mysql/** rwk,
  owner @{PROC}/@{pid}/status r,
  # Site-specific additions and overrides. See local/README for details.
  #include <local/usr.sbin.mysqld>
}
`
	debianEmpty = `# This file is intentionally empty to disable apparmor by default for newer
# versions of MariaDB, while providing seamless upgrade from older versions
# and from mysql, where apparmor is used.
#
# By default, we do not want to have any apparmor profile for the MariaDB
# server. It does not provide much useful functionality/security, and causes
# several problems for users who often are not even aware that apparmor
# exists and runs on their system.
`
)

func TestAppArmorFor(t *testing.T) {
	const (
		enabled = "sys/module/apparmor/parameters/enabled"
		loaded  = "sys/kernel/security/apparmor/profiles"
		text    = "etc/apparmor.d/usr.sbin.mysqld"
	)
	on := func(files map[string]string) map[string]string {
		files[enabled] = "Y\n"
		return files
	}
	enforced := func(name string) []AppArmorProfile { return []AppArmorProfile{{Name: name, Enforced: true}} }
	relaxed := func(name string) []AppArmorProfile { return []AppArmorProfile{{Name: name}} }
	for name, c := range map[string]struct {
		files  map[string]string
		binary string // /usr/sbin/mysqld if empty
		want   []AppArmorProfile
	}{
		"no AppArmor":           {files: map[string]string{text: ubuntuProfile}},
		"AppArmor off":          {files: map[string]string{text: ubuntuProfile, enabled: "N\n"}},
		"Ubuntu's":              {files: on(map[string]string{text: ubuntuProfile}), want: enforced("/usr/sbin/mysqld")},
		"of another program":    {files: on(map[string]string{text: ubuntuProfile}), binary: "/usr/sbin/mariadbd"},
		"Debian's empty one":    {files: on(map[string]string{"etc/apparmor.d/usr.sbin.mariadbd": debianEmpty}), binary: "/usr/sbin/mariadbd"},
		"disabled":              {files: on(map[string]string{text: ubuntuProfile, "etc/apparmor.d/disable/usr.sbin.mysqld": ""})},
		"forced to complain":    {files: on(map[string]string{text: ubuntuProfile, "etc/apparmor.d/force-complain/usr.sbin.mysqld": ""}), want: relaxed("/usr/sbin/mysqld")},
		"complain":              {files: on(map[string]string{text: "/usr/sbin/mysqld flags=(complain) {\n}\n"}), want: relaxed("/usr/sbin/mysqld")},
		"complain among others": {files: on(map[string]string{text: "/usr/sbin/mysqld flags=(attach_disconnected, complain) {\n}\n"}), want: relaxed("/usr/sbin/mysqld")},
		"old style of flags":    {files: on(map[string]string{text: "/usr/sbin/mysqld (complain) {\n}\n"}), want: relaxed("/usr/sbin/mysqld")},
		"unconfined":            {files: on(map[string]string{text: "profile m /usr/sbin/mysqld flags=(unconfined) {\n}\n"}), want: relaxed("m")},
		"other flags":           {files: on(map[string]string{text: "profile m /usr/sbin/mysqld flags=(attach_disconnected) {\n}\n"}), want: enforced("m")},
		"named":                 {files: on(map[string]string{text: "profile mariadbd /usr/sbin/mariadbd {\n  /x r,\n}\n"}), binary: "/usr/sbin/mariadbd", want: enforced("mariadbd")},
		"alternatives":          {files: on(map[string]string{text: "/usr/{bin,sbin}/{mysqld,mariadbd} {\n}\n"}), want: enforced("/usr/{bin,sbin}/{mysqld,mariadbd}")},
		"variable":              {files: on(map[string]string{text: "@{x} = /y\nprofile m @{bin}/mysqld {\n}\n"}), want: enforced("m")},
		"brace on its own line": {files: on(map[string]string{text: "profile m /usr/sbin/mysqld\n{\n}\n"}), want: enforced("m")},
		"rule of another":       {files: on(map[string]string{text: "/usr/bin/x {\n  /usr/sbin/mysqld Px,\n  profile /usr/sbin/mysqld {\n  }\n}\n"})},
		"left by a package":     {files: on(map[string]string{text + ".dpkg-old": ubuntuProfile})},
		"written, not loaded":   {files: on(map[string]string{text: ubuntuProfile, loaded: "man_groff (enforce)\n"})},
		"loaded, enforced":      {files: on(map[string]string{loaded: "/usr/sbin/mysqld (enforce)\n/usr/sbin/mysqld//x (enforce)\n"}), want: enforced("/usr/sbin/mysqld")},
		"loaded, complains":     {files: on(map[string]string{text: ubuntuProfile, loaded: "/usr/sbin/mysqld (complain)\n"}), want: relaxed("/usr/sbin/mysqld")},
		"loaded by name":        {files: on(map[string]string{text: "profile m /usr/sbin/mysqld {\n}\n", loaded: "m (enforce)\n"}), want: enforced("m")},
		"in a container":        {files: on(map[string]string{text: ubuntuProfile, "proc/self/attr/current": "docker-default (enforce)\n"})},
		"not in a container":    {files: on(map[string]string{text: ubuntuProfile, "proc/self/attr/current": "unconfined\n"}), want: enforced("/usr/sbin/mysqld")},
	} {
		t.Run(name, func(t *testing.T) {
			if c.binary == "" {
				c.binary = "/usr/sbin/mysqld"
			}
			got := plant(t, c.files).AppArmorFor(c.binary)
			for i := range got { // TestAppArmorFiles has those
				got[i].File, got[i].Local = "", ""
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestGlobMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"/usr/sbin/mysqld", "/usr/sbin/mysqld", true},
		{"/usr/sbin/mysqld", "/usr/sbin/mysqld-debug", false},
		{"/usr/sbin/mysqld*", "/usr/sbin/mysqld-debug", true},
		{"/usr/*/mysqld", "/usr/local/sbin/mysqld", false},
		{"/usr/**/mysqld", "/usr/local/sbin/mysqld", true},
		{"/usr/{,local/}sbin/mysqld", "/usr/local/sbin/mysqld", true},
		{"/usr/sbin/mysql[a-d]", "/usr/sbin/mysqld", true},
		{"/usr/sbin/m?sqld", "/usr/sbin/mysqld", true},
		{"/opt/a.b/*", "/opt/axb/c", false},
		{"@{unknown}/mysqld", "/usr/sbin/mysqld", false},
		{"", "/usr/sbin/mysqld", false},
		{"/usr/sbin/{mysqld", "/usr/sbin/mysqld", false},
	} {
		if got := globMatch(c.pattern, c.path); got != c.want {
			t.Errorf("globMatch(%q, %q) = %v", c.pattern, c.path, got)
		}
	}
}

func TestSELinux(t *testing.T) {
	h := plant(t, map[string]string{"sys/fs/selinux/enforce": "1", "usr/libexec/mariadbd": "", "usr/bin/ls": ""})
	if !h.SELinuxEnforcing() {
		t.Error("not enforcing")
	}
	if (Host{Root: t.TempDir()}).SELinuxEnforcing() {
		t.Error("enforcing without SELinux")
	}
	err := unix.Setxattr(filepath.Join(h.Root, "usr/libexec/mariadbd"), "security.selinux",
		[]byte("system_u:object_r:mysqld_exec_t:s0\x00"), 0)
	if err != nil {
		t.Skipf("SKIPPED, UNTESTED: types of files, since labels cannot be set here: %v", err)
	}
	if got := h.SELinuxType("/usr/libexec/mariadbd"); got != "mysqld_exec_t" {
		t.Errorf("type %q", got)
	}
	if got := h.SELinuxType("/usr/bin/ls"); got != "" {
		t.Errorf("type %q of a file without a label", got)
	}
}

func TestOSRelease(t *testing.T) {
	h := plant(t, map[string]string{"usr/lib/os-release": "NAME=\"Ubuntu\"\n# x\nID=ubuntu\nID_LIKE='debian foo'\nVERSION_ID=\"24.04\"\nPRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\n"})
	want := OSRelease{ID: "ubuntu", Like: []string{"debian", "foo"}, Version: "24.04", Pretty: "Ubuntu 24.04.1 LTS"}
	got := h.OSRelease()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !got.Is("debian") || !got.Is("ubuntu") || got.Is("fedora") {
		t.Error("Is is wrong")
	}
	if diff := cmp.Diff(OSRelease{}, (Host{Root: t.TempDir()}).OSRelease()); diff != "" {
		t.Errorf("of a machine that says nothing: %s", diff)
	}
}

func TestAppArmorFiles(t *testing.T) {
	const text = "etc/apparmor.d/usr.sbin.mysqld"
	for name, c := range map[string]struct{ profile, loaded, file, local string }{
		"of Ubuntu":        {ubuntuProfile, "", "/" + text, "/etc/apparmor.d/local/usr.sbin.mysqld"},
		"loaded":           {ubuntuProfile, "/usr/sbin/mysqld (enforce)\n", "/" + text, "/etc/apparmor.d/local/usr.sbin.mysqld"},
		"of Debian's sid":  {"profile m /usr/sbin/mysqld {\n  include if exists <local/m>\n}\n", "", "/" + text, "/etc/apparmor.d/local/m"},
		"without includes": {"profile m /usr/sbin/mysqld {\n}\n", "", "/" + text, ""},
	} {
		files := map[string]string{"sys/module/apparmor/parameters/enabled": "Y\n", text: c.profile}
		if c.loaded != "" {
			files["sys/kernel/security/apparmor/profiles"] = c.loaded
		}
		got := plant(t, files).AppArmorFor("/usr/sbin/mysqld")
		if len(got) != 1 || got[0].File != c.file || got[0].Local != c.local {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
