package software

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server"
)

func TestParsePolicy(t *testing.T) {
	got := parsePolicy(`mariadb-server-core:
  Installed: (none)
  Candidate: 1:10.11.19-0+deb12u1
  Version table:
     1:10.11.19-0+deb12u1 500
        500 http://deb.debian.org/debian-security bookworm-security/main amd64 Packages
     1:10.11.18-0+deb12u1 500
mariadb-server-core-10.6:
  Installed: (none)
  Candidate: (none)
  Version table:
mariadb-server-core-10.11:
  Installed: (none)
  Candidate: 10.11.2-MariaDB
`)
	want := map[string]string{"mariadb-server-core": "1:10.11.19-0+deb12u1", "mariadb-server-core-10.11": "10.11.2-MariaDB"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for text, want := range map[string]server.Version{"1:10.11.19-0+deb12u1": {Major: 10, Minor: 11, Patch: 19}, "10.11.2-MariaDB": {Major: 10, Minor: 11, Patch: 2}, "5.8+1.1.0": {}, "": {}} {
		if v, ok := packageVersion(text); v != want || ok != (want != server.Version{}) {
			t.Errorf("%q: %s, %v", text, v, ok)
		}
	}
}

func TestParsePlan(t *testing.T) {
	got := parsePlan(`0 upgraded, 28 newly installed, 0 to remove and 0 not upgraded.
Need to get 16.8 MB of archives.
After this operation, 91.5 MB of additional disk space will be used.
'http://deb.debian.org/debian/pool/main/g/gcc-12/gcc-12-base_12.2.0-14%2bdeb12u1_amd64.deb' gcc.deb 37596 MD5Sum:8e
'file:/srv/repo/./lib%20x_1%2b1_amd64.deb' libx_1+1_amd64.deb 100 SHA256:00
`)
	want := aptPlan{download: 16_800_000, unpacked: 91_500_000, local: []string{"/srv/repo/lib x_1+1_amd64.deb"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(aptPlan{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for text, want := range map[string]int64{
		"Need to get 0 B/1,234 kB of archives.": 1_234_000,
		"Need to get 812 B of archives.":        812,
		"nothing":                               0,
	} {
		if got := parsePlan(text).download; got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestParseStatus(t *testing.T) {
	if done, ok := parseStatus([]byte("dlstatus:28:64.2500:Retrieving file 28 of 28")); done != 0.6425 || !ok {
		t.Errorf("%v, %v", done, ok)
	}
	for _, line := range []string{"", "pmstatus:x:50:y", "dlstatus:1:x:y", "dlstatus:1"} {
		if _, ok := parseStatus([]byte(line)); ok {
			t.Errorf("%q is a status", line)
		}
	}
}

func TestComplaints(t *testing.T) {
	for talk, want := range map[string]string{
		"W: a\nE: b\nE: c\n": "b; c",
		"W: a\nW: b\n":       "a; b",
		"x\ny\n":             "x",
		"":                   "",
	} {
		if got := complaints(talk); got != want {
			t.Errorf("%q: %q", talk, got)
		}
	}
}

func TestNeededOfPackage(t *testing.T) {
	for name, want := range map[string]bool{
		"usr/sbin/mariadbd":                         true,
		"usr/bin/mariadb":                           true,
		"usr/bin/innochecksum":                      false,
		"usr/bin/mariadb-dump":                      true,
		"usr/bin/mariadb-binlog":                    true,
		"usr/bin/mysqlbinlog":                       true,
		"usr/bin/mysqld_safe":                       false,
		"lib64/ld-linux-x86-64.so.2":                true,
		"lib/ld-linux-aarch64.so.1":                 true,
		"usr/lib/aarch64-linux-gnu/libssl.so.3":     true,
		"lib/x86_64-linux-gnu/libc.so.6":            true,
		"usr/lib/x86_64-linux-gnu/gconv/BIG5.so":    false,
		"usr/lib/x86_64-linux-gnu/x.a":              false,
		"usr/share/mysql/english/errmsg.sys":        true,
		"usr/share/mariadb/mariadb_test_db.sql":     true,
		"usr/share/doc/libc6/changelog.gz":          false,
		"usr/share/man/man1/mariadb.1.gz":           false,
		"usr/lib/mysql/plugin/auth_pam_tool_dir/x":  true,
		"etc/mysql/my.cnf":                          false,
		"usr/lib/x86_64-linux-gnu/libcrypto.so.3":   true,
		"usr/lib/systemd/system/mariadb.service":    false,
		"usr/share/locale/de/LC_MESSAGES/x.mo":      false,
		"usr/lib/x86_64-linux-gnu/libsome.so.notes": false,
		"usr/lib/x86_64-linux-gnu/libaio.so.1t64":   true,
		"usr/lib/mysql/private/libprotobuf.so.3.24": true,
		"usr/share/mysql/charsets/Index.xml":        true,

		"usr/lib/mysql/plugin/component_reference_cache.so":             true,
		"usr/lib/mysql/plugin/component_validate_password.so":           true,
		"usr/lib/mysql/plugin/mysql_clone.so":                           true,
		"usr/lib/mysql/plugin/component_test_udf_services.so":           false,
		"usr/lib/mysql/plugin/telemetry_client.so":                      false,
		"usr/lib/mysql/plugin/authentication_kerberos_client.so":        false,
		"usr/lib/mysql/plugin/component_group_replication_flow_stat.so": false,
	} {
		if got := neededOfPackage(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
