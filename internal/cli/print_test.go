package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestShellQuote asks a shell.
func TestShellQuote(t *testing.T) {
	for _, word := range []string{"", "a", "a b", "it's", `"$HOME" \ $(echo x) !`, "''", "a\nb", "-n", "*", "ünal"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+server.ShellQuote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q became %q, %v", word, out, err)
		}
	}
}

func TestTable(t *testing.T) {
	tab := newTable("NAME", "SIZE", "FROM")
	tab.row("a", "12 MB", "")
	tab.row("größer", "1 B", "x.sql")
	var b bytes.Buffer
	tab.print(&b)
	want := "NAME    SIZE   FROM\na       12 MB\ngrößer  1 B    x.sql\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestIndent(t *testing.T) {
	if got := indent(" a\nb\nc\n", 2); got != "a\n  b\n  c" {
		t.Errorf("got %q", got)
	}
}

// TestExitCode is the contract of docs/exit-codes.md.
func TestExitCode(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	wrap := func(err error) error { return fmt.Errorf("do it: %w", err) }
	_, unknownServer := software.Fulfils(nil, "bogus")
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"any", t.Context(), errors.New("x"), 1},
		{"usage", t.Context(), wrap(usageError{errors.New("x")}), 2},
		{"a name", t.Context(), instance.CheckName("../x"), 2},
		{"an unknown server", t.Context(), wrap(unknownServer), 2},
		{"no instance", t.Context(), wrap(instance.ErrNotFound), 3},
		{"no image", t.Context(), wrap(image.ErrNotFound), 3},
		{"several, the first of which decides", t.Context(), eachOf(t.Context(), []string{"x", "../x"}, func(name string) error {
			return cmp.Or(instance.CheckName(name), wrap(instance.ErrNotFound))
		}), 3},
		{"no room", t.Context(), wrap(&volume.NoRoomError{}), 4},
		{"interrupted", over, wrap(context.Canceled), 130},
		{"no room, which interrupted", over, wrap(&volume.NoRoomError{}), 4},
	} {
		if got := exitCode(c.ctx, c.err); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// TestRunStatus: what `run` makes of how its command ended.
func TestRunStatus(t *testing.T) {
	for script, want := range map[string]int{"true": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137} {
		got, err := status(exec.Command("/bin/sh", "-c", script).Run())
		if err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", script, got, err, want)
		}
	}
	if _, err := status(errors.New("not started")); err == nil {
		t.Error("no error")
	}
}
