package server

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestRender compares the option file of each stage, on each kind of volume, for
// each series that has rows of its own, with a golden file.
func TestRender(t *testing.T) {
	onCPUs(t, 2)
	was := installedPrefix
	installedPrefix = t.TempDir() // no library for clusters, whatever the machine has
	t.Cleanup(func() { installedPrefix = was })
	for _, srv := range []*Server{
		testServer(Version{10, 11, 14}), testServer(Version{11, 4, 9}), testServer(Version{11, 8, 6}),
		testMySQL(Version{8, 0, 19}), testMySQL(Version{8, 0, 42}), testMySQL(Version{8, 4, 5}), testMySQL(Version{9, 7, 4}),
	} {
		for stage, name := range map[Stage]string{Run: "run", Build: "build", Bootstrap: "bootstrap", Replay: "replay"} {
			for _, volume := range []string{"shm", "xfs", "disk"} {
				if stage != Run && volume != "shm" {
					continue
				}
				name := fmt.Sprintf("%s-%s-%s", srv.Name(), name, volume)
				t.Run(name, func(t *testing.T) {
					c := Config{
						Stage: stage, Volume: volume, DataDir: "/v/instances/main/data", RunDir: "/v/instances/main/run",
						TmpDir: "/v/instances/main/tmp",
					}
					if stage == Run {
						c.Port, c.InitFile = 33061, "/v/instances/main/run/init.sql"
						c.Set = map[string]string{"max_connections": "500", "sql_mode": "", "innodb_buffer_pool_size": "1G"}
					}
					got, err := srv.Render(c)
					if err != nil {
						t.Fatal(err)
					}
					golden(t, name+".cnf", got)
					if stage != Run || volume != "shm" {
						return
					}
					c.NoLog = true
					if got, err = srv.Render(c); err != nil {
						t.Fatal(err)
					}
					golden(t, name+"-log-off.cnf", got)
					c.NoLog, c.Durability = false, Acknowledged
					if got, err = srv.Render(c); err != nil {
						t.Fatal(err)
					}
					golden(t, name+"-durable.cnf", got)
					c.Member = &Member{
						Cluster: "c", Group: "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee", Node: "c-1", Number: 1, Host: "127.0.0.1",
						Ports: MemberPorts{Group: 4567, Transfer: 4568, State: 4444}, Peers: []string{"127.0.0.1:4567", "127.0.0.1:4577", "127.0.0.1:4587"},
					}
					if got, err = srv.Render(c); err != nil {
						t.Fatal(err)
					}
					golden(t, name+"-member.cnf", got)
				})
			}
		}
	}
}

func testServer(v Version) *Server {
	return &Server{
		Flavour: MariaDB, Version: v, Dir: "/s",
		Share: "/s/share", Messages: "/s/share", Charsets: "/s/share/charsets", Plugins: "/s/lib/plugin",
	}
}

func testMySQL(v Version) *Server {
	s := testServer(v)
	s.Flavour, s.Share = MySQL, ""
	return s
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update accepts it):\n%s", path, diff)
	}
}

// TestRenderEveryLineHasItsReason is what the profile promises.
func TestRenderEveryLineHasItsReason(t *testing.T) {
	text, err := testServer(Version{10, 11, 14}).Render(Config{Stage: Run, Volume: "shm", DataDir: "/d", RunDir: "/r", TmpDir: "/t"})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines[2:] {
		if l != "" && !strings.HasPrefix(l, "#") && !strings.HasPrefix(lines[i+1], "# ") {
			t.Errorf("no reason above %q", l)
		}
	}
}

func TestRenderValues(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   map[string]string
		stage Stage
		want  string // a line
		not   string
		err   string
	}{
		{name: "plain", set: map[string]string{"max_connections": "5"}, want: "max_connections = 5"},
		{name: "over ours", set: map[string]string{"innodb_buffer_pool_size": "1G"}, want: "innodb_buffer_pool_size = 1G", not: "innodb_buffer_pool_size = 128M"},
		{name: "quoted", set: map[string]string{"init_connect": `SET @a="b\c"`}, want: `init_connect = "SET @a=\"b\\c\""`},
		{name: "comment sign", set: map[string]string{"x": "a#b"}, want: `x = "a#b"`},
		{name: "empty", set: map[string]string{"x": ""}, want: `x = ""`},
		{name: "line break", set: map[string]string{"x": "a\nport=1"}, err: "line break"},
		{name: "fixed", set: map[string]string{"log_bin": "OFF"}, err: "use --set log_bin: ramaria relies on its own value"},
		{name: "bootstrap leaves out what shapes nothing", set: map[string]string{"max_connections": "5"}, stage: Bootstrap, not: "max_connections"},
		{name: "bootstrap has what shapes", set: map[string]string{"lower_case_table_names": "1"}, stage: Bootstrap, want: "lower_case_table_names = 1"},
		{name: "no port", want: "skip_networking = ON", not: "bind_address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.stage == 0 {
				c.stage = Run
			}
			text, err := testServer(Version{10, 11, 14}).Render(Config{Stage: c.stage, Volume: "shm", DataDir: "/d", RunDir: "/r", TmpDir: "/t", Set: c.set})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.want != "" && !strings.Contains(text, "\n"+c.want+"\n") {
				t.Errorf("no line %q in:\n%s", c.want, text)
			}
			if c.not != "" && strings.Contains(text, "\n"+c.not) {
				t.Errorf("a line begins with %q in:\n%s", c.not, text)
			}
		})
	}
}

func TestNormalSet(t *testing.T) {
	got, err := NormalSet([]string{"Max-Connections=5", " sql_mode = A, B ", "slow-query-log", "mariadb.x=", "max_connections=6"})
	want := map[string]string{"max_connections": "6", "sql_mode": "A, B", "slow_query_log": "ON", "mariadb.x": ""}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %v", err, cmp.Diff(want, got))
	}
	for _, bad := range []string{"", "=1", "a b=1", "a;b=1", "ä=1", "[mysqld]"} {
		if _, err := NormalSet([]string{bad}); err == nil || !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("%q: got %v, want an error with a hint", bad, err)
		}
	}
}

func TestCheckSet(t *testing.T) {
	s := testServer(Version{10, 11, 14})
	for name, hint := range map[string]string{"datadir": "--volume", "port": "--port N", "tmpdir": "--tmpdir DIR", "binlog_format": "leave it out", "socket": "leave it out"} {
		err := s.CheckSet(map[string]string{name: "x"}, false, InRAM)
		if err == nil || !strings.Contains(err.Error(), "\nhint: ") || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: got %v, want an error that hints at %q", name, err, hint)
		}
	}
	for _, name := range []string{"log_bin", "skip_log_bin", "disable_log_bin", "loose_log_bin", "loose_skip_log_bin", "enable_binlog_row_image"} {
		if err := s.CheckSet(map[string]string{name: "x"}, false, InRAM); err == nil || !strings.Contains(err.Error(), "--log off") {
			t.Errorf("%s: got %v, want an error that hints at --log off", name, err)
		}
	}
	// Without a log these may be set; the log itself may not be switched on.
	if err := s.CheckSet(map[string]string{"binlog_format": "MIXED", "max_binlog_size": "1M"}, true, InRAM); err != nil {
		t.Error(err)
	}
	if s.CheckSet(map[string]string{"log_bin": "x"}, true, InRAM) == nil {
		t.Error("a log in spite of --log off is not refused")
	}
	for value, fits := range map[string]bool{"": true, ".": true, "./undo": true, "undo": true, "/undo": false, "../undo": false, "a/../../undo": false} {
		for _, name := range []string{"innodb_undo_directory", "loose_innodb_undo_directory"} {
			if err := s.CheckSet(map[string]string{name: value}, false, InRAM); (err == nil) != fits {
				t.Errorf("--set %s=%s: %v", name, value, err)
			}
		}
	}
	for _, srv := range []*Server{s, testMySQL(Version{9, 7, 4})} {
		for _, name := range []string{"innodb_flush_log_at_trx_commit", "innodb_doublewrite", "binlog_ignore_db", "loose_binlog_do_db"} {
			if srv.CheckSet(map[string]string{name: "x"}, false, InRAM) != nil || srv.CheckSet(map[string]string{name: "x"}, false, Delayed) == nil {
				t.Errorf("%s, --set %s: want it refused of durable instances alone", srv.Name(), name)
			}
		}
	}
	mysql := testMySQL(Version{9, 7, 4})
	if mysql.CheckSet(map[string]string{"rpl_semi_sync_source_timeout": "1"}, false, Acknowledged) == nil || mysql.CheckSet(map[string]string{"rpl_semi_sync_source_timeout": "1"}, false, InRAM) != nil {
		t.Error("--set rpl_semi_sync_source_timeout: want it refused where commits wait, and there alone")
	}
	if s.CheckSet(map[string]string{"bind_address": ""}, false, InRAM) == nil {
		t.Error("an empty address is not refused")
	}
	if err := s.CheckSet(map[string]string{"max_connections": "1", "innodb_buffer_pool_size": "1G"}, false, InRAM); err != nil {
		t.Error(err)
	}
}

// TestMemberSet: a cluster that was made with settings which members rely on now is refused when it is made, keeps none of them,
// and a machine that joins it takes over none; so of a replica, whose source has them. Others stay.
func TestMemberSet(t *testing.T) {
	for _, s := range []*Server{testServer(Version{10, 11, 14}), testServer(Version{11, 8, 6}), testMySQL(Version{9, 7, 4})} {
		set := map[string]string{"autocommit": "OFF", "loose_transaction_read_only": "ON", "completion_type": "CHAIN", "read_only": "OFF", "max_connections": "7"}
		if err := s.CheckMemberSet(set); err == nil {
			t.Errorf("%s: not refused", s.Name())
		}
		if left := s.MemberSet(set); len(left) != 1 || left["max_connections"] != "7" {
			t.Errorf("%s: a member that joins takes over %v", s.Name(), left)
		}
		for name, c := range map[string]Config{"member": {Member: &Member{}}, "replica": {Replica: true}, "alone": {}} {
			c.Stage, c.Volume, c.DataDir, c.RunDir, c.TmpDir, c.Set = Run, "shm", "/d", "/r", "/t", set
			text, err := s.Render(c)
			if err != nil {
				t.Errorf("%s, %s: %v", s.Name(), name, err)
			}
			kept := strings.Contains(text, "\ncompletion_type = CHAIN\n") && strings.Contains(text, "\nautocommit = OFF\n") && strings.Contains(text, "\nloose_transaction_read_only = ON\n")
			if kept != (name == "alone") || !strings.Contains(text, "\nmax_connections = 7\n") {
				t.Errorf("%s, %s: %s", s.Name(), name, text)
			}
		}
	}
}

// TestSmallPacket: a max_allowed_packet too small for Ramaria's own statements is refused where it is asked for, and what has
// one from before starts, and replays, with the least that is large enough.
func TestSmallPacket(t *testing.T) {
	for _, s := range []*Server{testServer(Version{10, 11, 14}), testServer(Version{11, 8, 6}), testMySQL(Version{9, 7, 4})} {
		for name, value := range map[string]string{"max_allowed_packet": "16K", "loose_max_allowed_packet": "1024", "maximum_max_allowed_packet": "0"} {
			set := map[string]string{name: value, "max_connections": "7"}
			if err := s.CheckSet(set, false, InRAM); err == nil || !strings.Contains(err.Error(), "hint: --set max_allowed_packet=64K") {
				t.Errorf("%s, --set %s=%s: %v", s.Name(), name, value, err)
			}
			for _, stage := range []Stage{Run, Replay} {
				text, err := s.Render(Config{Stage: stage, Volume: "shm", DataDir: "/d", RunDir: "/r", TmpDir: "/t", Set: set})
				if err != nil {
					t.Errorf("%s: %v", s.Name(), err)
				}
				if !strings.Contains(text, "\nmax_allowed_packet = 64K\n") || strings.Count(text, "max_allowed_packet") != 1 || stage == Run && !strings.Contains(text, "\nmax_connections = 7\n") {
					t.Errorf("%s, --set %s=%s: %s", s.Name(), name, value, text)
				}
			}
		}
		if set := map[string]string{"max_allowed_packet": "64K"}; s.CheckSet(set, false, InRAM) != nil || Usable(set)["max_allowed_packet"] != "64K" {
			t.Errorf("%s: what is large enough is refused, or changed", s.Name())
		}
	}
}

// TestUnusableSettings: settings by which the server refuses Ramaria's own connections or statements are refused where they
// are asked for; what has them from before starts with others.
func TestUnusableSettings(t *testing.T) {
	my, maria := testMySQL(Version{9, 7, 4}), testServer(Version{11, 8, 6})
	for _, c := range []struct {
		s                   *Server
		name, value, usable string
	}{
		{my, "protocol_compression_algorithms", "zlib", "zlib,uncompressed"},
		{my, "loose_protocol_compression_algorithms", "zstd,zlib", "zstd,zlib,uncompressed"},
		{my, "protocol_compression_algorithms", "zlib, UNCOMPRESSED", ""},
		{maria, "secure_timestamp", "YES", "REPLICATION"},
		{maria, "secure_timestamp", "3", "REPLICATION"},
		{maria, "secure_timestamp", "REPLICATION", ""},
		{maria, "secure_timestamp", "SUPER", ""},
	} {
		set := map[string]string{c.name: c.value}
		err := c.s.CheckSet(set, false, InRAM)
		if c.usable == "" {
			if err != nil {
				t.Errorf("--set %s=%s: %v", c.name, c.value, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "="+c.usable+", or leave it out") {
			t.Errorf("--set %s=%s: %v", c.name, c.value, err)
		}
		text, err := c.s.Render(Config{Stage: Run, Volume: "shm", DataDir: "/d", RunDir: "/r", TmpDir: "/t", Set: set})
		if option := optionMeant(c.name); err != nil || !strings.Contains(text, "\n"+option+" = "+c.usable+"\n") || strings.Count(text, option) != 1 {
			t.Errorf("--set %s=%s: %v, %s", c.name, c.value, err, text)
		}
	}
}

// TestShape: what is built into the files is part of an image's identity, what is
// not is not.
func TestShape(t *testing.T) {
	s := testServer(Version{10, 11, 14})
	plain := s.Shape(nil)
	if !cmp.Equal(plain, []string{"character_set_server=utf8mb4"}) {
		t.Errorf("got %q", plain)
	}
	if got := s.Shape(map[string]string{"max_connections": "5", "innodb_buffer_pool_size": "1G"}); !cmp.Equal(got, plain) {
		t.Errorf("settings that shape nothing: got %q, want %q", got, plain)
	}
	want := []string{"character_set_server=latin1", "sql_mode=ANSI"}
	if got := s.Shape(map[string]string{"sql_mode": "ANSI", "character_set_server": "latin1"}); !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// onCPUs makes the profile that of a machine with that many CPUs.
func onCPUs(t *testing.T, n int) {
	has := machineCPUs
	t.Cleanup(func() { machineCPUs = has })
	machineCPUs = n
}

// TestRenderCPUs leaves the purge to the server's own judgement where there are many CPUs.
func TestRenderCPUs(t *testing.T) {
	for cpus, want := range map[int]bool{1: true, 4: true, 5: false} {
		onCPUs(t, cpus)
		text, err := testServer(Version{10, 11, 14}).Render(Config{Stage: Run, Volume: "shm", DataDir: "/d", RunDir: "/r", TmpDir: "/t"})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text, "innodb_purge_threads = 1\n"); got != want {
			t.Errorf("%d CPUs: one thread purges: %t", cpus, got)
		}
	}
}

// TestSetting finds what the user says of an option by any name that servers take for it.
// TestRenderDurability: the rows that rest on data in RAM are of that level alone, and no row names
// a level that there is not.
func TestRenderDurability(t *testing.T) {
	for _, srv := range []*Server{testServer(Version{10, 11, 14}), testMySQL(Version{9, 7, 4})} {
		byDefault, err := srv.Render(Config{Stage: Run, Volume: "xfs"})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			level Durability
			has   bool
		}{{InRAM, true}, {Acknowledged, false}, {Delayed, false}} {
			got, err := srv.Render(Config{Stage: Run, Volume: "xfs", Durability: c.level})
			if err != nil {
				t.Fatal(err)
			}
			if (got == byDefault) != c.has {
				t.Errorf("%s, level %s: as by default: %v", srv.Name(), c.level, !c.has)
			}
			for line, has := range map[string]bool{
				"\nbinlog_checksum = NONE\n": !c.level.Durable(), "\nbinlog_checksum = CRC32\n": c.level.Durable(), "rpl_semi_sync_": c.level.Durable() || c.level == Followed,
			} {
				if strings.Contains(got, line) != has {
					t.Errorf("%s, level %s: %q is there: %v", srv.Name(), c.level, line, !has)
				}
			}
		}
		for _, r := range srv.Family().profile {
			for _, level := range strings.Fields(r.durability) {
				if d := Durability(level); d != InRAM && d != Followed && !d.Durable() {
					t.Errorf("%s: %s has a row for level %q", srv.Name(), r.name, level)
				}
			}
		}
	}
}

func TestSetting(t *testing.T) {
	for name, want := range map[string]bool{
		"innodb_buffer_pool_size": true, "loose_innodb_buffer_pool_size": true, "loose_skip_innodb_buffer_pool_size": true,
		"innodb_buffer_pool_size_max": false, "buffer_pool_size": false,
	} {
		if value, is := Setting(map[string]string{"max_connections": "1", name: "64M"}, "innodb_buffer_pool_size"); is != want || is && value != "64M" {
			t.Errorf("%s: %q, %v", name, value, is)
		}
	}
	if _, is := Setting(map[string]string{"skip_": "1"}, "no_such"); is {
		t.Error("found what is not there")
	}
	for value, folds := range map[string]bool{"0": false, "1": true, "2": false, "": false, "ON": false} {
		if FoldsNames(map[string]string{"lower_case_table_names": value}) != folds {
			t.Errorf("lower_case_table_names=%s: want %v", value, folds)
		}
	}
}
