package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/tests"
)

const (
	// executeArg makes gotest the program of go test -exec.
	executeArg = "execute"
	// envRoot is the directory of the module, and envUsage that of what packages have used.
	envRoot  = "RAMARIA_GOTEST_ROOT"
	envUsage = "RAMARIA_GOTEST_USAGE"
	// notRun is the exit status where the test could not be run.
	notRun = 2
)

// execute runs the tests of one package, in whose directory it is, as go test -exec has it: the
// program and its arguments. It leaves out what the table leaves for later, and writes down
// what time it took.
func execute(argv []string) int {
	here, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		return notRun
	}
	path, err := filepath.Rel(os.Getenv(envRoot), here)
	if err != nil || len(argv) == 0 {
		fmt.Fprintln(os.Stderr, "gotest: only go test runs this:", err)
		return notRun
	}
	argv = append(argv, flagsOf(path)...)
	// The signal at the death of this program is of the thread that starts the other.
	runtime.LockOSThread()
	// The test gets an interrupt too. One that this program ignored would be ignored by all that it
	// starts, ramaria too.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		return notRun
	}
	// go test asks for stacks when the time is over.
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT, syscall.SIGTERM)
	go func() {
		for s := range quit {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()
	err = cmd.Wait()
	if state := cmd.ProcessState; state != nil {
		u := used{path: path, wall: time.Since(began), user: state.UserTime(), system: state.SystemTime()}
		if err := u.write(os.Getenv(envUsage)); err != nil {
			fmt.Fprintln(os.Stderr, "gotest:", err)
		}
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "gotest:", err)
	return notRun
}

// flagsOf are those that the table has for the tests of a package.
func flagsOf(path string) (flags []string) {
	for _, p := range tests.Packages {
		switch {
		case p.Path != path:
			continue
		case p.Parallel > 0:
			flags = append(flags, "-test.parallel="+strconv.Itoa(p.Parallel))
		}
		if len(p.Later) > 0 && servertest.Quick() {
			flags = append(flags, "-test.skip="+strings.Join(p.Later, "|"))
		}
	}
	return flags
}
