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
	err = l.heldChild(ctx, t, &samples, dir)
	return samples, err
}

// heldWriteRate measures the lab's disk for a process that is held back by t.
func (l *Lab) heldWriteRate(ctx context.Context, t *runner.Throttle) (r runner.WriteRate, err error) {
	err = l.heldChild(ctx, t, &r, l.Dir, "--writes")
	return r, err
}

// heldChild has `bench fsync` measure something, held back by t, and reads its answer.
func (l *Lab) heldChild(ctx context.Context, t *runner.Throttle, answer any, dir string, flags ...string) error {
	cmd := exec.CommandContext(ctx, l.Exe, append([]string{"bench", "fsync", dir, "--home", l.Home}, flags...)...)
	cmd.WaitDelay = time.Second
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	begin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("measure fsync: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("measure fsync: %w", err)
	}
	if err = t.Add(cmd.Process.Pid); err == nil {
		_, err = io.WriteString(begin, "\n")
	}
	// Without its line it measures nothing, and says so.
	if err := errors.Join(err, begin.Close(), cmd.Wait()); err != nil {
		return fmt.Errorf("measure fsync: %w: %s", err, strings.TrimSpace(talk.String()))
	}
	if err := json.Unmarshal(out.Bytes(), answer); err != nil {
		return fmt.Errorf("measure fsync: %w", err)
	}
	return nil
}

// FsyncChild is the child of that: it waits for a line on in, measures and writes the seconds to out, as a JSON
// array; or a WriteRate, as an object.
func FsyncChild(ctx context.Context, dir string, writes bool, in io.Reader, out io.Writer) error {
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return fmt.Errorf("wait for the line that begins it: %w", err)
	}
	if writes {
		rate, err := runner.MeasureWriteRate(ctx, dir)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(rate)
	}
	samples, err := runner.FsyncSamples(ctx, dir)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(samples)
}
