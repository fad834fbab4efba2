package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
)

const (
	// patience is how long `until` tries, and how long a job may take to end.
	patience = 4 * time.Minute
	// untilPause is the pause between two tries.
	untilPause = 20 * time.Millisecond
)

// commands are what scripts have besides the commands of testscript itself.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"status":       cmdStatus,
	"until":        cmdUntil,
	"says":         cmdSays,
	"query":        cmdQuery,
	"start":        cmdStart,
	"signal":       cmdSignal,
	"ended":        cmdEnded,
	"nothing-left": cmdNothingLeft,
	"kill9":        cmdKill9,
	"crash":        cmdCrash,
	"acknowledged": cmdAcknowledged,
	"have":         cmdHave,
	"own-images":   cmdOwnImages,
	"admin":        cmdAdmin,
	"service":      cmdService,
	"web":          cmdWeb,
	"one-place":    cmdOnePlace,
	"leave-half":   cmdLeaveHalf,
}

// cmdStatus is `exec` of a command that must exit with the status:
//
//	status 3 ramaria status
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	if got := statusOf(ts, err); strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// statusOf is the exit status as a shell would have it.
func statusOf(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		ts.Fatalf("cannot run: %v", err)
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}

// cmdUntil tries a shell command until it exits with 0:
//
//	until 'ramaria ls | grep crashed'
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: until COMMAND-LINE")
	}
	for end := time.Now().Add(patience); ; time.Sleep(untilPause) {
		err := ts.Exec("sh", "-c", args[0])
		if err == nil {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("still %v after %s", err, patience)
		}
	}
}

// cmdQuery runs a statement by `ramaria sql`, and compares the rows: columns are
// joined by a blank, rows by a comma.
//
//	query main 'SELECT a, b FROM t' '1 x,2 y'
func cmdQuery(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: query INSTANCE STATEMENT ROWS")
	}
	ts.Check(ts.Exec("ramaria", "sql", args[0], "-e", args[1]))
	_, rows, _ := strings.Cut(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	if got := strings.NewReplacer("\t", " ", "\n", ",").Replace(rows); got != args[2] {
		ts.Fatalf("the rows are %q, want %q", got, args[2])
	}
}

// cmdAdmin runs a statement by the supervisor's account, which may do everything:
//
//	admin main 'SET GLOBAL binlog_format=STATEMENT'
func cmdAdmin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: admin INSTANCE STATEMENT")
	}
	ts.Check(ts.Exec("ramaria", "status", args[0], "--json"))
	var at struct{ Dir, Socket string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &at))
	var made instance.Made
	ts.Check(instance.ReadJSON(filepath.Join(at.Dir, "instance.json"), &made))
	db, err := dbconn.Open(at.Socket, made.Supervisor, "")
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(errors.Join(err, db.Close()))
}

// job is a command in the background.
type job struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	errs talk
	done chan struct{}
	err  error // valid once done is closed
}

// talk is what a job says, which can be looked at while it speaks.
type talk struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (t *talk) Write(p []byte) (int, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.text.Write(p)
}

func (t *talk) String() string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.text.String()
}

// cmdSays waits until a job has said something on stderr: `says NAME PATTERN`.
func cmdSays(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: says NAME PATTERN")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	b := ts.Value(homeKey{}).(*scriptHome)
	j := b.running[args[0]]
	if j == nil {
		ts.Fatalf("no job %s", args[0])
	}
	for end := time.Now().Add(patience); !pattern.MatchString(j.errs.String()); time.Sleep(untilPause) {
		if time.Now().After(end) {
			ts.Fatalf("after %s %s has said only: %s", patience, args[0], j.errs.String())
		}
	}
}

// cmdStart runs a command in the background, with signals as a shell in the
// foreground has them:
//
//	start NAME ramaria run -- sleep 60
func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME COMMAND...")
	}
	b := ts.Value(homeKey{}).(*scriptHome)
	if b.running[args[0]] != nil {
		ts.Fatalf("%s runs already", args[0])
	}
	path, err := lookPath(args[1], ts.Getenv("PATH"))
	ts.Check(err)
	j := &job{cmd: &exec.Cmd{Path: path, Args: args[1:], Dir: ts.MkAbs(".")}, done: make(chan struct{})}
	for _, name := range []string{"PATH", "HOME", "RAMARIA_HOME", "RAMARIA_NO_FETCH", "RAMARIA_VOLUME", "RAMARIA_SERVER", "WORK", "TMPDIR", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_REGION"} {
		j.cmd.Env = append(j.cmd.Env, name+"="+ts.Getenv(name))
	}
	j.cmd.Stdout, j.cmd.Stderr = &j.out, &j.errs
	j.cmd.WaitDelay = 4 * time.Second
	ts.Check(j.cmd.Start())
	b.running[args[0]] = j
	go func() {
		defer close(j.done)
		j.err = j.cmd.Wait()
	}()
}

// lookPath is exec.LookPath on the PATH of a script.
func lookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range strings.Split(path, ":") {
		if p, err := exec.LookPath(dir + "/" + name); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("no program %s", name)
}

// cmdSignal sends a signal to a job: `signal NAME INT`.
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signal NAME SIGNAL")
	}
	s := unix.SignalNum("SIG" + args[1])
	if s == 0 {
		ts.Fatalf("no signal %s", args[1])
	}
	ts.Check(theJob(ts, args[0]).cmd.Process.Signal(s))
}

// cmdEnded waits for a job to end, with the status, and makes what it wrote the
// stdout and stderr that the next commands look at: `ended NAME 130`.
func cmdEnded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ended NAME STATUS")
	}
	j := theJob(ts, args[0])
	select {
	case <-j.done:
	case <-time.After(patience):
		ts.Fatalf("%s still runs after %s", args[0], patience)
	}
	delete(ts.Value(homeKey{}).(*scriptHome).running, args[0])
	_, _ = ts.Stdout().Write(j.out.Bytes()) // buffers
	_, _ = ts.Stderr().Write([]byte(j.errs.String()))
	if errors.Is(j.err, exec.ErrWaitDelay) {
		ts.Fatalf("%s left a process that holds its output: %s", args[0], j.errs.String())
	}
	if got := statusOf(ts, j.err); strconv.Itoa(got) != args[1] {
		ts.Fatalf("exit status %d, want %s\n%s", got, args[1], j.errs.String())
	}
}

func theJob(ts *testscript.TestScript, name string) *job {
	j := ts.Value(homeKey{}).(*scriptHome).running[name]
	if j == nil {
		ts.Fatalf("no job %s", name)
	}
	return j
}

// cmdNothingLeft fails if there is a process, an instance, or anything half made.
func cmdNothingLeft(ts *testscript.TestScript, neg bool, _ []string) {
	b := ts.Value(homeKey{}).(*scriptHome)
	if !neg {
		b.wait()
	}
	left := b.left()
	if neg && len(left) == 0 {
		ts.Fatalf("nothing is left, but something should be")
	}
	if !neg && len(left) > 0 {
		ts.Fatalf("left behind:\n%s", strings.Join(left, "\n"))
	}
}
