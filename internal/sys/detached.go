package sys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// reportFD is the descriptor on which a detached process reports, once, that it is ready or why it is not.
const reportFD = 3

// detachedReport is what it says.
type detachedReport struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// StartDetached starts a program apart from the terminal and from this process, with log for what it writes, and waits
// until it calls ReportReady. died is what to say if it ends before. When ctx ends first, the program is told to
// stop and waited for. Who lives as long as it should wait for the command that is returned, lest it stay a zombie.
func StartDetached(ctx context.Context, argv []string, log *os.File, died func() string) (*exec.Cmd, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	defer r.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	// Not the caller's directory, which could then not be unmounted or removed.
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	answer := make(chan error, 1)
	go func() {
		var said detachedReport
		err := json.NewDecoder(r).Decode(&said)
		switch {
		case err != nil:
			answer <- errors.New(died())
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

// ReportReady tells who started this process with StartDetached how the start went. It does nothing in any other.
func ReportReady(err error) {
	var st syscall.Stat_t
	if syscall.Fstat(reportFD, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return
	}
	f := os.NewFile(reportFD, "report")
	defer f.Close()
	said := detachedReport{OK: err == nil}
	if err != nil {
		said.Error = strings.TrimSpace(err.Error())
	}
	// There is none to tell if the command that started this one was killed.
	_ = json.NewEncoder(f).Encode(said)
}
