package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/host"
)

func TestWords(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	a := &app{engine: engine.Engine{Home: "/home/ann/h", UID: 1000, Places: host.Places{Cache: "/home/ann/h/cache", Shm: "/dev/shm/ramaria-1000"}}}
	const places = "\nhint: ramaria doctor looks at the places; --home DIR chooses others"
	denied := func(path string) error {
		return fmt.Errorf("do it: %w", &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES})
	}
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want string
	}{
		{"any", t.Context(), errors.New("do it: no"), "do it: no"},
		{"interrupted", over, fmt.Errorf("stop instance main: wait for process 7: %w", context.Canceled), "stop instance main: wait for process 7: interrupted"},
		{"interrupted, said", over, fmt.Errorf("load x: interrupted after 1 MB: %w\nhint: y", context.Canceled), "load x: interrupted after 1 MB\nhint: y"},
		{"somebody else's end", t.Context(), fmt.Errorf("start: %w", context.Canceled), "start: context canceled"},
		{"a file of the user's", t.Context(), denied("/root/x.sql"), "do it: open /root/x.sql: permission denied\nhint: this command runs as uid 1000; namei -l /root/x.sql shows what keeps it out"},
		{"a path that a shell would take apart", t.Context(), denied("/root/a b"), "do it: open /root/a b: permission denied\nhint: this command runs as uid 1000; namei -l '/root/a b' shows what keeps it out"},
		{"in a place", t.Context(), denied("/home/ann/h/cache/servers"), "do it: open /home/ann/h/cache/servers: permission denied" + places},
		{"on the way to a place", t.Context(), denied("/home/ann"), "do it: open /home/ann: permission denied" + places},
		{"beside a place", t.Context(), denied("/dev/shm/ramaria-10000/x"), "do it: open /dev/shm/ramaria-10000/x: permission denied\nhint: this command runs as uid 1000; namei -l /dev/shm/ramaria-10000/x shows what keeps it out"},
		{"no path", t.Context(), fmt.Errorf("do it: %w", fs.ErrPermission), "do it: permission denied" + places},
		{"with a hint", t.Context(), fmt.Errorf("do it: %w\nhint: x", fs.ErrPermission), "do it: permission denied\nhint: x"},
	} {
		if got := a.words(c.ctx, c.err); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestFlagWords parses what the flags of commands take, so that other words of the library are seen.
func TestFlagWords(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"up", "--port", "abc"}, `invalid argument "abc" for "--port" flag: it is not a number`},
		{[]string{"up", "--port", "99999999999999999999"}, `invalid argument "99999999999999999999" for "--port" flag: the number is too large`},
		{[]string{"up", "--fresh=abc"}, `invalid argument "abc" for "--fresh" flag: it is neither true nor false`},
		{[]string{"db", "new", "--ttl", "abc"}, `invalid argument "abc" for "--ttl" flag: it is not a time such as 90s, 10m or 2h`},
		{[]string{"db", "new", "--ttl", "60"}, `invalid argument "60" for "--ttl" flag: it is not a time such as 90s, 10m or 2h`},
		{[]string{"db", "new", "--ttl", "5 days"}, `invalid argument "5 days" for "--ttl" flag: it is not a time such as 90s, 10m or 2h`},
		{[]string{"bench", "--rounds", "1.5"}, `invalid argument "1.5" for "--rounds" flag: it is not a number`},
		{[]string{"up", "--moon"}, "unknown flag: --moon"},
	} {
		root := Root()
		root.SetArgs(c.args)
		err := root.ExecuteContext(t.Context())
		if err == nil {
			t.Errorf("%v: no error", c.args)
			continue
		}
		if got, _, _ := strings.Cut(err.Error(), "\nhint: "); got != c.want {
			t.Errorf("%v:\ngot  %s\nwant %s", c.args, got, c.want)
		}
	}
}
