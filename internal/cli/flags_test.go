package cli

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// given parses flags as `up` does.
func given(t *testing.T, args ...string) (*cobra.Command, instance.Spec) {
	t.Helper()
	var o specFlags
	cmd := &cobra.Command{}
	o.add(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	s, err := o.spec()
	if err != nil {
		t.Fatal(err)
	}
	return cmd, s
}

func TestSpec(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	_, got := given(t, "--from", "a.sql", "--from", "exec:x", "--password-file", "pw", "--tmpdir", ".", "--server", "bin/mariadbd", "--set", "Max-Connections=5")
	want := instance.Spec{
		Server: filepath.Join(dir, "bin/mariadbd"), From: []image.Source{{Kind: image.FromPath, Name: filepath.Join(dir, "a.sql")}, {Kind: image.FromCommand, Name: "x"}}, User: "app",
		PasswordFile: filepath.Join(dir, "pw"), Volume: "auto", TmpDir: dir, Set: map[string]string{"max_connections": "5"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDifferences: a flag that is not given is as it was; one that is given with
// another value shows, in its own words.
func TestDifferences(t *testing.T) {
	_, was := given(t, "--from", "/a.sql", "--set", "b=1", "--set", "a=2", "--port", "33061")
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"none", nil, nil},
		{"the same", []string{"--from", "/a.sql", "--port", "33061"}, nil},
		{"the same settings in another order", []string{"--set", "a=2", "--set", "B=1"}, nil},
		{"another source", []string{"--from", "/b.sql"}, []string{`  --from: made with "/a.sql", now "/b.sql"`}},
		{"one more", []string{"--from", "/a.sql", "--from", "/b.sql"}, []string{`  --from: made with "/a.sql", now "/a.sql /b.sql"`}},
		{"the default, said aloud", []string{"--port", "0"}, []string{`  --port: made with "33061", now "0"`}},
		{"of the level", []string{"--durable=1h"}, []string{`  --durable: made with "off", now "1h"`}},
		{"several", []string{"--set", "a=3", "--user", "joe"}, []string{`  --user: made with "app", now "joe"`, `  --set: made with "a=2 b=1", now "a=3"`}},
	} {
		cmd, now := given(t, c.args...)
		var got []string
		for _, d := range givenOptions(cmd).Differences(was, now) {
			got = append(got, d.String())
		}
		if !cmp.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestMergeKnowsEveryFlag: what --fresh changes is what was given, flag by flag.
func TestMergeKnowsEveryFlag(t *testing.T) {
	dir := t.TempDir()
	values := map[string]string{
		"server": "mariadb:11.4", "from": "/b.sql", "key": "k", "allow-empty": "true", "collations": "auto", "definers": "mine", "accounts": "skip", "fix": "true", "database": "d", "user": "u", "password-file": "/pw",
		"port": "4000", "volume": "disk", "tmpdir": dir, "set": "a=1", "log": "off", "confine": "off",
		"durable": "2s", "archive": dir, "recover-within": "1m", "history": "1d", "when-full": "move",
		"socket": filepath.Join(dir, "s"), "front": "3307", "api-listen": "127.0.0.1:3443", "device-atomic": "on",
	}
	for flag, value := range values {
		var both []string
		if flag == "archive" || flag == "recover-within" || flag == "history" {
			both = []string{"--durable"} // they are for durable instances
		}
		if flag == "device-atomic" {
			both = []string{"--volume=disk"} // in RAM nothing is torn
		}
		_, was := given(t, both...)
		cmd, now := given(t, append(both, "--"+flag+"="+value)...)
		got := givenOptions(cmd).Merge(was, now)
		if diff := givenOptions(cmd).Differences(was, now); len(diff) != 1 {
			t.Errorf("--%s: the difference is %v", flag, diff)
		}
		if !cmp.Equal(got, now) {
			t.Errorf("--%s: %s", flag, cmp.Diff(now, got))
		}
	}
	// A flag that is new must be in the table above.
	for _, field := range engine.Fields() {
		if _, ok := values[field]; !ok {
			t.Errorf("--%s is not tested", field)
		}
	}
	_, before := given(t, "--user", "joe", "--from", "/a.sql")
	cmd, now := given(t, "--from", "/b.sql")
	if got := givenOptions(cmd).Merge(before, now); got.User != "joe" || !cmp.Equal(got.From, []image.Source{{Kind: image.FromPath, Name: "/b.sql"}}) {
		t.Errorf("got %+v", got)
	}
}
