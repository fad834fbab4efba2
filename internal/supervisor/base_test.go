package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestBaseEndsWithSupervisor: what makes a base backup does not outlive a supervisor that is killed. The next one
// would make a base of the same number, in the same files.
func TestBaseEndsWithSupervisor(t *testing.T) {
	const env = "RAMARIA_TEST_MAKE_BASE"
	if script := os.Getenv(env); script != "" { // this is the supervisor
		s := &Supervisor{
			inst:    &instance.Instance{Record: instance.Record{Name: "shop"}},
			options: Options{Argv: func(string) []string { return []string{script, "supervise"} }},
		}
		_, err := s.runBase(t.Context(), BaseOrder{})
		t.Fatal(err)
	}
	dir := t.TempDir()
	said := filepath.Join(dir, "pid")
	cmd := exec.Command(os.Args[0], "-test.run=^TestBaseEndsWithSupervisor$")
	script := filepath.Join(dir, "base.sh")
	text := fmt.Sprintf("#!/bin/sh\necho $$ > %s.new && mv %[1]s.new %[1]s\nexec sleep 60\n", said)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), env+"="+script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const patience = 2 * time.Minute
	pid := 0
	for end := time.Now().Add(patience); pid == 0; time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile(said); err == nil {
			if pid, err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil {
				t.Fatal(err)
			}
		}
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			t.Fatalf("nothing makes a base: %v", cmd.Wait())
		}
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || len(bytes.TrimSpace(b)) == 0 { // gone, or dead and not waited for
			return
		}
		if time.Now().After(end) {
			t.Fatal("it works on without its supervisor")
		}
	}
}
