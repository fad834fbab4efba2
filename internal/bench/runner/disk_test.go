package runner_test

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/benchtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/host"
)

func TestWrittenGrows(t *testing.T) {
	dir := benchtest.OnDisk(t)
	const size = 4 << 20
	data := make([]byte, size)
	if _, err := rand.Read(data); err != nil { // zeroes may be stored as a hole
		t.Fatal(err)
	}
	n, err := runner.DeviceOf(host.Host{}, dir).Count(func() error {
		f, err := os.Create(filepath.Join(dir, "f"))
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := f.Write(data); err != nil {
			return err
		}
		return f.Sync()
	})
	if err != nil || n < size {
		t.Errorf("%d bytes are said to be written, %v; it were %d", n, err, size)
	}
}

// nobody is the ordinary user that root becomes for a test.
const nobody = 65534

func TestThrottleAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root, so that TestThrottleUnavailable itself has run as an ordinary user")
	}
	dir := benchtest.OnDisk(t)
	own := filepath.Join(dir, "tmp")
	if err := errors.Join(os.Mkdir(own, 0o700), os.Chown(own, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "bench.test")
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(binary, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.v", "-test.run=^TestThrottleUnavailable$")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+own, "HOME="+own)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestThrottleUnavailable/not_root") {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}
