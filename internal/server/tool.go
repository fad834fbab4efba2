package server

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
	// toolOutput is how much of a tool's output is kept.
	toolOutput = 1 << 20
	// toolGrace is how long a tool may take to end after it was asked to.
	toolGrace = 2 * time.Second
)

// tool is a program of the distribution that a fetch uses (apt-get, dpkg-deb). It
// has a process group of its own, which goes when ctx ends, and does not outlive
// this process.
type tool struct {
	argv   []string
	env    []string
	status func(line []byte) // gets what the tool writes to descriptor 3; nil for none
	stdout func(io.Reader) error
}

// run returns what the tool wrote to its standard output (unless stdout reads it)
// and to its standard error.
func (t tool) run(ctx context.Context) (out, talk string, err error) {
	cmd := exec.CommandContext(ctx, t.argv[0], t.argv[1:]...)
	cmd.Env = append([]string{"LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"}, t.env...)
	var outBuf, errBuf limitedBuffer
	cmd.Stderr = &errBuf
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = toolGrace
	readers, err := t.pipes(cmd, &outBuf)
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
		err = fmt.Errorf("%s: %w", t.argv[0], err)
	}
	return outBuf.String(), errBuf.String(), err
}

// pipes connects the tool's output and descriptor 3; it returns what has to run
// beside the tool and the ends to close once it runs.
func (t tool) pipes(cmd *exec.Cmd, out io.Writer) (p toolPipes, err error) {
	if t.stdout == nil {
		cmd.Stdout = out
	} else {
		r, err := cmd.StdoutPipe()
		if err != nil {
			return p, err
		}
		p.read = func() error { return t.stdout(r) }
	}
	if t.status != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return p, err
		}
		cmd.ExtraFiles = []*os.File{w}
		p.theirs = w
		p.status = func() { defer r.Close(); eachLine(r, t.status) }
	}
	return p, nil
}

type toolPipes struct {
	read   func() error
	status func()
	theirs *os.File
}

func startAndWait(cmd *exec.Cmd, p toolPipes) error {
	err := cmd.Start()
	if p.theirs != nil {
		p.theirs.Close()
		ended := make(chan struct{})
		go func() { defer close(ended); p.status() }() // ends with the tool, at end of file
		defer func() { <-ended }()
	}
	if err != nil {
		return err
	}
	if p.read != nil {
		if err := p.read(); err != nil {
			_ = cmd.Cancel() // the tool would wait for a reader for ever
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
		if len(buf) > toolOutput {
			buf = buf[:0]
		}
		if err != nil {
			return
		}
	}
}

// limitedBuffer keeps the first toolOutput bytes and drops the rest.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := toolOutput - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
