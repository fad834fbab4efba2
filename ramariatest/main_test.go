package ramariatest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// envBinary names a ramaria to test instead of one built from this source; envChild says
// that this process was started by a test.
const (
	envBinary = "RAMARIA_TEST_BINARY"
	envChild  = "RAMARIA_TEST_CHILD"
)

// noServer says why there is no server to test with.
var noServer string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run gives the tests a home of their own, in which they start ramaria as every user's do.
func run(m *testing.M) int {
	if os.Getenv(envChild) != "" {
		return Main(m)
	}
	home, err := os.MkdirTemp("", "rg-") // short, for sockets
	if err == nil {
		defer os.RemoveAll(home)
		err = furnish(home)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := Main(testsThenExamples{m})
	if out, err := exec.Command(os.Getenv(EnvProgram), "volume", "rm", "--all", "--force").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "remove instances and images: %v\n%s", err, out)
		code = 1
	}
	// TestLeftovers leaves a transaction open, and database/sql cannot be told that it is over.
	if err := goleak.Find(goleak.IgnoreAnyFunction("database/sql.(*Tx).awaitDone")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// testsThenExamples ends the examples with the tests.
type testsThenExamples struct{ m *testing.M }

func (r testsThenExamples) Run() int {
	code := r.m.Run()
	examples.end()
	if examples.log != "" {
		fmt.Fprintln(os.Stderr, examples.log)
		return 1
	}
	return code
}

// furnish makes the home, with a server and the program in it, and sets the environment.
func furnish(home string) error {
	t := &fakeT{}
	want := cmp.Or(os.Getenv(servertest.EnvServer), servertest.Servers[0])
	t.run(func() {
		servertest.Find(t, want)
		cache := filepath.Join(home, "cache")
		if err := errors.Join(os.Mkdir(cache, 0o755), os.Symlink(servertest.Dir(t), filepath.Join(cache, "servers"))); err != nil {
			t.Fatal(err)
		}
	})
	if t.Failed() {
		return errors.New(t.log)
	}
	if noServer = t.skipped; noServer != "" {
		// An example cannot skip itself.
		return flag.Set("test.skip", "^Example")
	}
	program := os.Getenv(envBinary)
	if program == "" {
		program = filepath.Join(home, "ramaria")
		if err := servertest.Build(program); err != nil {
			return err
		}
	}
	var errs []error
	for name, value := range map[string]string{
		"RAMARIA_API": "", "RAMARIA_HOME": home, "RAMARIA_NO_FETCH": "1", "RAMARIA_VOLUME": "shm", "RAMARIA_SERVER": want,
		EnvProgram: program, EnvInstance: "", EnvKeep: "",
	} {
		errs = append(errs, os.Setenv(name, value))
	}
	return errors.Join(append(errs, os.Chmod(home, 0o755))...) // #nosec G302 -- the server's account must enter
}

// needServer skips a test where there is no server.
func needServer(t *testing.T) {
	t.Helper()
	if noServer != "" {
		t.Skip(noServer)
	}
}

// fakeT is a test that may fail, be skipped and end when its caller wants.
type fakeT struct {
	testing.TB // for the methods that the test does not call
	ctx        context.Context
	cleanups   []func()
	failed     bool
	skipped    string
	log        string
}

func (t *fakeT) Helper()           {}
func (t *fakeT) Failed() bool      { return t.failed }
func (t *fakeT) Fail()             { t.failed = true }
func (t *fakeT) Output() io.Writer { return os.Stderr }
func (t *fakeT) Cleanup(f func())  { t.cleanups = append(t.cleanups, f) }

func (t *fakeT) Context() context.Context {
	if t.ctx == nil {
		return context.Background()
	}
	return t.ctx
}

func (t *fakeT) Logf(format string, args ...any) { t.log += fmt.Sprintf(format, args...) + "\n" }

func (t *fakeT) Fatalf(format string, args ...any) {
	t.Logf(format, args...)
	t.failed = true
	runtime.Goexit()
}

func (t *fakeT) Fatal(args ...any) { t.Fatalf("%s", fmt.Sprint(args...)) }

func (t *fakeT) Skipf(format string, args ...any) {
	t.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// run runs f as the test, which then ends.
func (t *fakeT) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.end()
		f()
	}()
	<-done
}

// end runs what the test left to be cleaned up.
func (t *fakeT) end() {
	for len(t.cleanups) > 0 {
		last := t.cleanups[len(t.cleanups)-1]
		t.cleanups = t.cleanups[:len(t.cleanups)-1]
		last()
	}
}

// ExampleT is the test of the examples.
var ExampleT testing.TB = examples

var examples = &fakeT{}
