package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// reportFD is the descriptor on which a spawned supervisor reports, once, that its
// server is ready or why it is not.
const reportFD = 3

// report is what a spawned supervisor says.
type report struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// Spawn starts `ramaria supervise` for the instance, detached from the terminal
// and from this process, and waits until its server is ready. argv is the command
// line. When ctx ends first, the supervisor is stopped again. Who lives as long as it
// should wait for the command that is returned, lest it stay a zombie.
func Spawn(ctx context.Context, i *instance.Instance, argv []string) (*exec.Cmd, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	defer r.Close()
	log, err := os.OpenFile(i.SupervisorLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	// Not the caller's directory, which could then not be unmounted or removed.
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	answer := make(chan error, 1)
	go func() {
		var said report
		err := json.NewDecoder(r).Decode(&said)
		switch {
		case err != nil:
			answer <- fmt.Errorf("start supervisor: it died: %s", server.LogTail(i.SupervisorLog()))
		case said.OK:
			answer <- nil
		default:
			answer <- errors.New(said.Error)
		}
	}()
	select {
	case err := <-answer:
		if err != nil {
			_ = cmd.Wait() // it ends by itself; its error is the one it reported
			return nil, err
		}
		return cmd, nil
	case <-ctx.Done():
		// The only error is that it has ended already.
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		return nil, ctx.Err()
	}
}

// Report tells the command that spawned this supervisor how the start went. It does nothing
// in a process that was not spawned.
func Report(err error) {
	var st syscall.Stat_t
	if syscall.Fstat(reportFD, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return
	}
	f := os.NewFile(reportFD, "report")
	defer f.Close()
	said := report{OK: err == nil}
	if err != nil {
		said.Error = strings.TrimSpace(err.Error())
	}
	// No one to tell: the command that spawned this one was killed.
	_ = json.NewEncoder(f).Encode(said)
}

// Self is the program that is running, by a path that other processes can start. Where
// its file was replaced or removed since, it is the running one all the same.
func Self() string {
	path, err := os.Executable()
	if err == nil {
		if _, err = os.Stat(path); err == nil {
			return path
		}
	}
	return "/proc/self/exe"
}
