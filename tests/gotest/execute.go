package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
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
	// envRoot is the directory of the module, envUsage that of what packages have used, and envEnd the
	// moment by which all ends, in milliseconds since 1970: a package may begin late.
	envRoot  = "RAMARIA_GOTEST_ROOT"
	envUsage = "RAMARIA_GOTEST_USAGE"
	envEnd   = "RAMARIA_GOTEST_END"
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
	argv = withFlags(argv, path)
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

// withFlags adds those that the table has for the tests of a package, where go test was not told
// otherwise, and the time that is left.
func withFlags(argv []string, path string) []string {
	const skip, parallel = "-test.skip=", "-test.parallel="
	p := row(tests.Packages, module+path)
	has := func(flag string) int {
		return slices.IndexFunc(argv, func(arg string) bool { return strings.HasPrefix(arg, flag) })
	}
	argv = slices.Clone(argv)
	if p.Parallel > 0 && has(parallel) < 0 {
		argv = append(argv, parallel+strconv.Itoa(p.Parallel))
	}
	if len(p.Later) > 0 && servertest.Quick() {
		later := strings.Join(p.Later, "|")
		if i := has(skip); i >= 0 {
			later = strings.TrimPrefix(argv[i], skip) + "|" + later
		}
		argv = append(argv, skip+later) // the last one counts
	}
	if end, err := strconv.ParseInt(os.Getenv(envEnd), 10, 64); err == nil {
		argv = append(argv, "-test.timeout="+timeout(time.UnixMilli(end)))
	}
	return argv
}
