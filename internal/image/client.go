package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/server"
)

// client runs the client program over a dump. In binary mode the client itself
// runs no commands, whatever the check may have missed.
func (b *build) client(ctx context.Context, s source, database string, in io.Reader, bar io.Writer) (dump.Summary, error) {
	config := filepath.Join(b.dir, "client.cnf")
	if err := server.WritePrivate(config, []byte(b.endpoint(b.login, "").ClientConfig()), server.Account{}); err != nil {
		return dump.Summary{}, err
	}
	defer os.Remove(config)
	argv := append(append([]string{}, b.Server.Client.Argv...), "--defaults-file="+config,
		"--default-character-set=utf8mb4", "--max-allowed-packet=1G", "--binary-mode", "--batch")
	if database != "" {
		argv = append(argv, "--database="+database)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = b.Server.Client.Environ(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	said := &tail{limit: clientErrorTail}
	cmd.Stderr = said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return dump.Summary{}, fmt.Errorf("load %s: %w", s.name, err)
	}
	if err := cmd.Start(); err != nil {
		return dump.Summary{}, fmt.Errorf("load %s: start client: %w", s.name, err)
	}
	sum, checkErr := dump.Check(io.MultiWriter(stdin, bar), in, dump.Options{File: s.name})
	if checkErr != nil && !errors.Is(checkErr, syscall.EPIPE) {
		// The client must not see an end of input, which would make it run what it
		// has of the statement.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return dump.Summary{}, checkErr
	}
	closeErr := stdin.Close()
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return dump.Summary{}, ctx.Err()
		}
		return dump.Summary{}, b.clientError(s, string(said.text), err)
	}
	if err := errors.Join(checkErr, closeErr); err != nil {
		return dump.Summary{}, fmt.Errorf("load %s: %w", s.name, err)
	}
	return sum, nil
}

// clientError shows file, line and statement of what the server refused.
func (b *build) clientError(s source, said string, exit error) error {
	e, ok := dump.ParseClientError(said)
	if !ok {
		return fmt.Errorf("load %s: client: %w: %s", s.name, exit, strings.TrimSpace(said))
	}
	text, err := dump.StatementAt(s.path, e.Line)
	if err != nil {
		text = ""
	}
	const serverGone, lostConnection = 2006, 2013
	if e.Code == serverGone || e.Code == lostConnection {
		e.Msg += "\n" + server.LogTail(b.logPath())
	}
	return &dump.Error{File: s.name, Line: e.Line, Statement: text, Msg: fmt.Sprintf("the server refused a statement: %d (%s) %s", e.Code, e.State, e.Msg),
		Hint: "mend the dump, or choose the server it was made for with --server; no image was kept"}
}

// clientErrorTail is how much, in bytes, is kept of what the client says: it
// repeats a whole failed statement before it names the error.
const clientErrorTail = 64 << 10

// tail keeps the last bytes written to it.
type tail struct {
	limit int
	text  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if cut := len(t.text) - t.limit; cut > 0 {
		t.text = append(t.text[:0], t.text[cut:]...)
	}
	return len(p), nil
}
