package engine

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// beginsAsTold reports whether the session of a dumper can be given settings, as MySQL's can from 8.2 on. All programs
// have the other option's name in the client library.
func beginsAsTold(of *server.Server) bool { return of.Dumper.Knows("init-command-add") }

// unlimited refuses a server of whose tables its dumper would write some of the rows. What else a dumper's session begins
// with may have it fail, and leaves nothing out.
func unlimited(ctx context.Context, db *sql.DB, of *server.Server, what string) error {
	if beginsAsTold(of) {
		return nil
	}
	var shortens string
	err := dbconn.Query(ctx, db, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('sql_select_limit', 'system_versioning_asof')", func(cols []string) error {
		if shortens == "" && cols[1] != whatIsWhole[cols[0]] {
			shortens = cols[0]
		}
		return nil
	})
	if err != nil || shortens == "" {
		return err
	}
	return fmt.Errorf("dump %s: %s of the server would have %s leave out rows\nhint: SET GLOBAL %[2]s = %[4]s", what, shortens, filepath.Base(of.Dumper.Path()), whatIsWhole[shortens])
}

// whatIsWhole are the values of settings with which a dumper writes all rows that there are now.
var whatIsWhole = map[string]string{"sql_select_limit": "18446744073709551615", "system_versioning_asof": "DEFAULT"}

// everything are those of whole, and that which writes where the log goes on behind that.
func everything(of *server.Server) []string { return append(whole(of), of.DumperPosition()...) }

// dumping is a run of a dumper.
type dumping struct {
	of *server.Server
	// what is dumped, for errors, and an option file with a password.
	what, config string
	args         []string
	// step is told what the dumper says on stderr, line by line, if it is to say what it does.
	step func(line string)
}

// run has the dumper write, and take read it to its end.
func (d dumping) run(ctx context.Context, take func(io.Reader) error) error {
	if len(d.of.Dumper.Argv) == 0 {
		return fmt.Errorf("dump %s: %s comes without its dumper\nhint: ramaria server fetch %s:%s", d.what, d.of.Name(), d.of.Flavour, d.of.Version.Series())
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	running, stop := context.WithCancel(ctx)
	defer stop()
	dumped := make(chan error, 1)
	go func() {
		dumped <- tool{Program: d.of.Dumper, args: d.args, config: d.config, out: w, strict: true, step: d.step}.run(running)
		w.Close() // which take sees
	}()
	terr := take(r)
	ended := len(dumped) > 0 // if it failed, that is why take did
	if terr != nil {
		stop()
	}
	err = <-dumped
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case terr != nil && !ended:
		return terr
	case err != nil:
		return fmt.Errorf("dump %s: %w", d.what, err)
	}
	return terr
}

// tool is a run of a program of a server, with config as its option file.
type tool struct {
	server.Program
	args   []string
	config string
	in     io.Reader
	out    io.Writer
	// strict has it fail where it says that something is wrong, whatever its exit status.
	strict bool
	// step is told the lines by which the program says what it does, which are then no part of its error.
	step func(line string)
}

func (t tool) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "ramaria-tool-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "my.cnf")
	if err := server.WritePrivate(file, []byte(t.config), server.Account{}); err != nil {
		return err
	}
	argv := append(append(append([]string{}, t.Argv...), "--defaults-file="+file), t.args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- a server's own
	cmd.Env = append([]string{"LC_ALL=C"}, t.Env...)
	says := saying{step: t.step}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.in, t.out, &says
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if err == nil && t.strict && saidError.MatchString(says.rest.String()) {
		err = errors.New("exit status 0")
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(t.Path()), err, strings.TrimSpace(says.rest.String()))
	}
	return nil
}

// saidError is of what a dumper says is wrong. That of MariaDB leaves out a table that was dropped meanwhile, says so, and
// succeeds, where it writes rows alone.
var saidError = regexp.MustCompile(`(?m)^(mysqldump: |mariadb-dump: )?(Error|Got error|Couldn't)\b`)

// saying tells what a program says it does from what is wrong.
type saying struct {
	step func(line string)
	line []byte // that has not ended
	rest strings.Builder
}

func (s *saying) Write(p []byte) (int, error) {
	if s.step == nil {
		return s.rest.Write(p)
	}
	s.line = append(s.line, p...)
	for {
		line, behind, ok := bytes.Cut(s.line, []byte{'\n'})
		if !ok {
			return len(p), nil
		}
		if bytes.HasPrefix(line, []byte("-- ")) {
			s.step(string(line))
		} else {
			s.rest.Write(append(line, '\n'))
		}
		s.line = behind
	}
}
