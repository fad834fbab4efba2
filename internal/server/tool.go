package server

import (
	"bytes"
	"context"
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
)

// Tool is a run of a program of a server, such as its dumper, with Config as its option file.
type Tool struct {
	Program

	Args   []string
	Config string
	In     io.Reader
	Out    io.Writer
	// Fault is what it says on stderr when something is wrong, though it exits with 0; nil for nothing.
	Fault *regexp.Regexp
	// Step is told the lines by which the program says what it does ("-- ..."), which are then no part of its error; nil for a
	// program that says nothing of the kind.
	Step func(line string)
}

// Run runs the program to its end. Its error has what the program said.
func (t Tool) Run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "ramaria-tool-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "my.cnf")
	if err := WritePrivate(file, []byte(t.Config), Account{}); err != nil {
		return err
	}
	argv := append(append(append([]string{}, t.Argv...), "--defaults-file="+file), t.Args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- a server's own
	cmd.Env = append([]string{"LC_ALL=C"}, t.Env...)
	says := saying{step: t.Step}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.In, t.Out, &says
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if err == nil && t.Fault != nil && t.Fault.MatchString(says.rest.String()) {
		err = errors.New("exit status 0")
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(t.Path()), err, strings.TrimSpace(says.rest.String()))
	}
	return nil
}

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
