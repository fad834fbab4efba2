package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Other tests run at the same time and make things of their own, so these tests
// ask only whether what they made themselves is seen.

// catches makes a leftover, expects it to be seen in the report as a thing of that
// kind with that text, removes it, and expects it to be gone.
func catches(t *testing.T, l Looker, kind Kind, create func(t *testing.T) (text string, remove func())) {
	t.Helper()
	before, err := l.Look()
	if err != nil {
		t.Fatal(err)
	}
	text, remove := create(t)
	t.Cleanup(remove) // twice is harmless
	if !reported(t, l, before, kind, text, 0) {
		t.Errorf("%s %s was not seen", kind, text)
	}
	if now, err := l.Look(); err != nil || reported(t, l, now, kind, text, 0) {
		t.Errorf("%s %s is blamed although it was there before (%v)", kind, text, err)
	}
	remove()
	if reported(t, l, before, kind, text, 20*time.Second) {
		t.Errorf("%s %s is still seen after it was removed", kind, text)
	}
}

// reported looks for the thing; with patience it waits for it to be gone.
func reported(t *testing.T, l Looker, before []Thing, kind Kind, text string, patience time.Duration) bool {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(settlePoll) {
		left, err := l.Settle(before, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen := false
		for _, thing := range left {
			seen = seen || thing.Kind == kind && strings.Contains(thing.String(), text)
		}
		if !seen || !time.Now().Before(end) {
			return seen
		}
	}
}

func TestCatchesFile(t *testing.T) {
	below := t.TempDir()
	for name, path := range map[string]string{
		"by name in shared memory": "/dev/shm/ramaria-leftover-test",
		"by name in /tmp":          "/tmp/ramaria-leftover-test",
		"by name in /run":          "/run/ramaria-leftover-test",
		"below a test directory":   filepath.Join(below, "data", "instances", "main"),
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(path, "/run/") {
				needRoot(t, "write to /run")
			}
			catches(t, Looker{Below: []string{below}}, File, func(t *testing.T) (string, func()) {
				if err := os.MkdirAll(path, 0o700); err != nil {
					t.Fatal(err)
				}
				return path, func() { os.RemoveAll(path) }
			})
		})
	}
}

func TestCatchesFileInAVolumeThatWasThere(t *testing.T) {
	volume, err := os.MkdirTemp("/dev/shm", "ramaria-leftover-test-")
	if err != nil {
		t.Skip("SKIPPED: no shared memory to write to: ", err)
	}
	t.Cleanup(func() { os.RemoveAll(volume) })
	catches(t, Looker{}, File, func(t *testing.T) (string, func()) {
		path := filepath.Join(volume, "instances", "forgotten")
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path, func() { os.RemoveAll(filepath.Join(volume, "instances")) }
	})
}

// script returns a program that sleeps, at the given path.
func script(t *testing.T, path string) string {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sleep, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCatchesProcess(t *testing.T) {
	below := t.TempDir()
	elsewhere := t.TempDir()
	for _, tc := range []struct {
		name  string
		argv0 string
		args  []string
		dir   string
	}{
		{"named ramaria", "ramaria", []string{"60"}, "/"},
		{"a server on our files", "mariadbd", []string{"--defaults-file=/dev/shm/ramaria-0/instances/main/my.cnf"}, "/"},
		{"a server through its own loader", "ld-linux-x86-64.so.2", []string{"/cache/mariadbd", "--no-defaults", "--datadir=/dev/shm/ramaria-0/x"}, "/"},
		{"working in a test directory", "sh", []string{"60"}, below},
	} {
		t.Run(tc.name, func(t *testing.T) {
			catches(t, Looker{Below: []string{below}}, Process, func(t *testing.T) (string, func()) {
				// A shell that waits keeps the arguments that sleep would refuse.
				cmd := exec.Command("/bin/sh")
				cmd.Args = append([]string{tc.argv0, "-c", "sleep 60 & wait", "sh"}, tc.args...)
				cmd.Dir = tc.dir
				return "-c sleep 60 & wait sh " + strings.Join(tc.args, " "), start(t, cmd)
			})
		})
	}
	t.Run("foreign ones are not ours", func(t *testing.T) {
		before, err := Looker{Below: []string{below}}.Look()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(script(t, filepath.Join(elsewhere, "mysqld")), "61")
		cmd.Dir = "/"
		remove := start(t, cmd)
		t.Cleanup(remove)
		if reported(t, Looker{Below: []string{below}}, before, Process, "mysqld 61", 0) {
			t.Error("a server that is not ours is blamed")
		}
	})
}

// start starts a process in a group of its own and returns what ends that group.
func start(t *testing.T, cmd *exec.Cmd) (remove func()) {
	t.Helper()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	return func() {
		if ended {
			return
		}
		ended = true
		// Of what was killed already, init may have taken the last one.
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
		cmd.Wait()
	}
}

func TestCatchesMount(t *testing.T) {
	needRoot(t, "mount")
	below := t.TempDir()
	catches(t, Looker{Below: []string{below}}, Mount, func(t *testing.T) (string, func()) {
		if err := syscall.Mount("tmpfs", below, "tmpfs", 0, "size=64k"); err != nil {
			skipUnpermitted(t, "mount tmpfs", err)
		}
		return below, func() {
			if err := syscall.Unmount(below, 0); err != nil && !errors.Is(err, syscall.EINVAL) {
				t.Error(err)
			}
		}
	})
}

func TestCatchesLoopDevice(t *testing.T) {
	needRoot(t, "attach a loop device")
	losetup, err := exec.LookPath("losetup")
	if err != nil {
		t.Skip("SKIPPED: there is no losetup program: ", err)
	}
	below := t.TempDir()
	catches(t, Looker{Below: []string{below}}, Loop, func(t *testing.T) (string, func()) {
		image := filepath.Join(below, "image")
		if err := os.WriteFile(image, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(losetup, "--find", "--show", image).CombinedOutput()
		if err != nil {
			t.Skipf("SKIPPED: this machine attaches no loop device: %v: %s", err, out)
		}
		device := strings.TrimSpace(string(out))
		detached := false
		return "over " + image, func() {
			if detached {
				return
			}
			detached = true
			if out, err := exec.Command(losetup, "--detach", device).CombinedOutput(); err != nil {
				t.Errorf("detach %s: %v: %s", device, err, out)
			}
		}
	})
}

// TestCatchesVolume makes what a volume is, as a killed command might leave it: its
// place is in the directory of root's volumes, its backing file nowhere to be seen.
func TestCatchesVolume(t *testing.T) {
	needRoot(t, "mount")
	dir := fmt.Sprintf("/run/ramaria/leftover-test-%d", os.Getpid())
	o := &volume.Opener{Places: host.Places{Mounts: dir}}
	for _, tc := range []struct {
		kind  volume.Kind
		thing Kind
	}{{volume.Tmpfs, Mount}, {volume.Tmpfs, File}, {volume.XFS, Mount}, {volume.XFS, Loop}, {volume.Zram, Zram}} {
		t.Run(string(tc.kind)+" "+string(tc.thing), func(t *testing.T) {
			catches(t, Looker{}, tc.thing, func(t *testing.T) (string, func()) {
				v, err := o.Open(t.Context(), volume.Spec{Kind: tc.kind, Size: 64 << 20})
				if errors.Is(err, volume.ErrUnfit) {
					t.Skip("SKIPPED: no such volume here: ", err)
				}
				if err != nil {
					t.Fatal(err)
				}
				text := v.Dir()
				if tc.thing == Loop || tc.thing == Zram {
					// Other tests have devices of this number before and after.
					text = string(tc.thing) + " " + device(t, v.Dir()) + " " + diskSequence(filepath.Base(device(t, v.Dir()))) + " "
				}
				return text, func() {
					if err := v.Destroy(context.Background(), true); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// device is the block device that is mounted at a point.
func device(t *testing.T, point string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), " "+point+" ")
	_, rest, _ = strings.Cut(rest, " - xfs ")
	name, _, _ := strings.Cut(rest, " ")
	return name
}

func needRoot(t *testing.T, what string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root may " + what)
	}
}

func skipUnpermitted(t *testing.T, what string, err error) {
	t.Helper()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("SKIPPED: root of this container may not %s: %v", what, err)
	}
	t.Fatal(err)
}

// The commands as the suite runs them: a snapshot, then a check that fails, then
// one that passes.
func TestCommandFailsOnALeftover(t *testing.T) {
	// A foreign leftover of another test that runs now would fail the last check, so
	// that only the messages about our own directory count.
	below := t.TempDir()
	file := filepath.Join(t.TempDir(), "snapshot")
	if err := run(file, "", []string{below}, settlePoll); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(below, "forgotten"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	if !reported(t, Looker{Below: []string{below}}, before, File, filepath.Join(below, "forgotten"), 0) {
		t.Error("the snapshot that was written does not show the leftover")
	}
	if err := run("", file, []string{below}, settlePoll); err == nil || !strings.Contains(err.Error(), "behind") {
		t.Errorf("check: %v, want a failure", err)
	}
}

func TestReportNamesTheTopOfATree(t *testing.T) {
	left := []Thing{{File, "/tmp/a", ""}, {File, "/tmp/a/b", ""}, {File, "/tmp/a/b/c", ""}, {File, "/tmp/ab", ""}, {Mount, "/tmp/a/m", ""}}
	want := []Thing{{File, "/tmp/a", ""}, {File, "/tmp/ab", ""}, {Mount, "/tmp/a/m", ""}}
	if diff := cmp.Diff(want, tops(left)); diff != "" {
		t.Error(diff)
	}
}

func TestCommandRefusesNonsense(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][2]string{
		"neither": {"", ""}, "both": {"a", "b"}, "no snapshot": {"", bad + "-missing"}, "broken snapshot": {"", bad},
	} {
		if err := run(args[0], args[1], nil, settlePoll); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
