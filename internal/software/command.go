package software

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

const (
	// commandOutput is how much of a command's output is kept.
	commandOutput = 1 << 20
	// commandGrace is how long a command may take to end after it was asked to.
	commandGrace = 2 * time.Second
)

// command is a program of the distribution that a fetch uses (apt-get, dpkg-deb). It
// has a process group of its own, which goes when ctx ends, and does not outlive
// this process.
type command struct {
	argv   []string
	env    []string
	status func(line []byte) // gets what the command writes to descriptor 3; nil for none
	stdout func(io.Reader) error
}

// run returns what the command wrote to its standard output (unless stdout reads it)
// and to its standard error.
func (c command) run(ctx context.Context) (out, talk string, err error) {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Env = append([]string{"LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"}, c.env...)
	var outBuf, errBuf limitedBuffer
	cmd.Stderr = &errBuf
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = commandGrace
	readers, err := c.pipes(cmd, &outBuf)
	if err != nil {
		return "", "", err
	}
	done := make(chan error)
	go func() {
		// The parent-death signal comes when the thread that forked ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- startAndWait(cmd, readers)
	}()
	err = <-done
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", c.argv[0], err)
	}
	return outBuf.String(), errBuf.String(), err
}

// pipes connects the command's output and descriptor 3; it returns what has to run
// beside the command and the ends to close once it runs.
func (c command) pipes(cmd *exec.Cmd, out io.Writer) (p commandPipes, err error) {
	if c.stdout == nil {
		cmd.Stdout = out
	} else {
		r, err := cmd.StdoutPipe()
		if err != nil {
			return p, err
		}
		p.read = func() error { return c.stdout(r) }
	}
	if c.status != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return p, err
		}
		cmd.ExtraFiles = []*os.File{w}
		p.theirs = w
		p.status = func() { defer r.Close(); eachLine(r, c.status) }
	}
	return p, nil
}

type commandPipes struct {
	read   func() error
	status func()
	theirs *os.File
}

func startAndWait(cmd *exec.Cmd, p commandPipes) error {
	err := cmd.Start()
	if p.theirs != nil {
		p.theirs.Close()
		ended := make(chan struct{})
		go func() { defer close(ended); p.status() }() // ends with the command, at end of file
		defer func() { <-ended }()
	}
	if err != nil {
		return err
	}
	if p.read != nil {
		if err := p.read(); err != nil {
			_ = cmd.Cancel() // the command would wait for a reader for ever
			_ = cmd.Wait()   // it was ended, which is no news
			return err
		}
	}
	return cmd.Wait()
}

// eachLine calls line for every line of r that is not too long to matter.
func eachLine(r io.Reader, line func([]byte)) {
	buf := make([]byte, 0, 4096)
	chunk := make([]byte, 4096)
	for {
		n, err := r.Read(chunk)
		buf = append(buf, chunk[:n]...)
		for {
			i := bytes.IndexByte(buf, '\n')
			if i < 0 {
				break
			}
			line(buf[:i])
			buf = buf[i+1:]
		}
		if len(buf) > commandOutput {
			buf = buf[:0]
		}
		if err != nil {
			return
		}
	}
}

// limitedBuffer keeps the first commandOutput bytes and drops the rest.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := commandOutput - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
