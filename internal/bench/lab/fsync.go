package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// MeasureFsync measures what an fsync takes in a directory, for a process that is held back
// by t; nil does not hold it back. A thread cannot join a control group of version 2 alone,
// and this process must not: so a child does it, which waits until it is in the group.
//
// The kernel lets a bucket of operations pass at once and the next one after a pause: half
// of the samples may be as fast as ever, and the mean tells the rate.
func (l *Lab) MeasureFsync(ctx context.Context, t *runner.Throttle, dir string) (samples []float64, err error) {
	if t == nil {
		return runner.FsyncSamples(ctx, dir)
	}
	cmd := exec.CommandContext(ctx, l.Exe, "bench", "fsync", dir, "--home", l.Home)
	cmd.WaitDelay = time.Second
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	begin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("measure fsync: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("measure fsync: %w", err)
	}
	if err = t.Add(cmd.Process.Pid); err == nil {
		_, err = io.WriteString(begin, "\n")
	}
	// Without its line it measures nothing, and says so.
	if err := errors.Join(err, begin.Close(), cmd.Wait()); err != nil {
		return nil, fmt.Errorf("measure fsync: %w: %s", err, strings.TrimSpace(talk.String()))
	}
	if err := json.Unmarshal(out.Bytes(), &samples); err != nil {
		return nil, fmt.Errorf("measure fsync: %w", err)
	}
	return samples, nil
}

// FsyncChild is the child of that: it waits for a line on in, measures and writes the
// seconds to out, as a JSON array.
func FsyncChild(ctx context.Context, dir string, in io.Reader, out io.Writer) error {
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return fmt.Errorf("wait for the line that begins it: %w", err)
	}
	samples, err := runner.FsyncSamples(ctx, dir)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(samples)
}
