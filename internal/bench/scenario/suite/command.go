package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// suiteGrace is how long a command may take to end when it is told to.
	suiteGrace = 5 * time.Second
	// suiteLines and suiteTail bound what is shown of the output of one that failed: lines,
	// and bytes of them.
	suiteLines = 20
	suiteTail  = 16 << 10
)

// suiteCommand is the user's command. What it says goes to a file; it has no input.
type suiteCommand struct {
	argv []string
	log  string
}

// run runs it in a process group of its own, all of which ends with it or with ctx. The
// processor time is that of the command and of the children that it waited for.
func (c *suiteCommand) run(ctx context.Context, env []string) (took, cpu time.Duration, err error) {
	out, err := os.OpenFile(c.log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, 0, fmt.Errorf("keep the output of the command: %w", err)
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
	// If this process is killed the kernel ends the command: when the thread ends that forked.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = suiteGrace
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, fmt.Errorf("run command: %w", err)
	}
	err = cmd.Wait()
	took = time.Since(began)
	// Processes that it left running would disturb the others. Mostly it left none.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if ctx.Err() != nil {
		return 0, 0, ctx.Err()
	}
	if err != nil {
		return 0, 0, c.failed(err)
	}
	return took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// failed says how the command ended, and what it said at last.
func (c *suiteCommand) failed(err error) error {
	how := err.Error()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		how = fmt.Sprintf("it exited with status %d", exit.ExitCode())
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			how = fmt.Sprintf("it was killed by signal %d (%s)", ws.Signal(), ws.Signal())
		}
	}
	said := c.tail()
	if said == "" {
		said = "  (nothing)"
	}
	return fmt.Errorf("%s: %s; its last lines:\n%s", strings.Join(c.argv, " "), how, said)
}

// tail is the end of what the command said, indented.
func (c *suiteCommand) tail() string {
	f, err := os.Open(c.log)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > suiteTail {
		if _, err := f.Seek(-suiteTail, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, err := io.ReadAll(f)
	if err != nil || len(strings.TrimSpace(string(text))) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-suiteLines):], "\n  ")
}
