package volume_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
	"github.com/ramaria-db/ramaria/internal/volume/volumetest"
)

func TestMain(m *testing.M) {
	if status, ok := inChild(); ok {
		os.Exit(status)
	}
	os.Exit(volumetest.Main(func() int {
		code := m.Run()
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
		return code
	}))
}

// places returns places of the test's own, the RAM volume in real shared memory.
func places(t testing.TB) host.Places {
	t.Helper()
	shm, err := os.MkdirTemp("/dev/shm", "ramaria-test-")
	if err != nil {
		t.Fatal(err)
	}
	disk := t.TempDir()
	t.Cleanup(func() { // the fixture has directories that are closed to writing
		if err := errors.Join(sys.RemoveTree(shm), sys.RemoveTree(disk)); err != nil {
			t.Error(err)
		}
	})
	return host.Places{Shm: filepath.Join(shm, "v"), Disk: filepath.Join(disk, "deep", "disk")}
}

func open(t testing.TB, p host.Places, spec volume.Spec) volume.Volume {
	t.Helper()
	v, err := (&volume.Opener{Places: p}).Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

func TestShm(t *testing.T) {
	volumetest.Run(t, func(t *testing.T) volume.Volume { return open(t, places(t), volume.Spec{Kind: volume.Shm}) })
}

func TestDisk(t *testing.T) {
	volumetest.Run(t, func(t *testing.T) volume.Volume { return open(t, places(t), volume.Spec{Kind: volume.Disk}) })
}

// TestMounted runs the suite on the kinds that are file systems of their own.
func TestMounted(t *testing.T) {
	for _, kind := range []volume.Kind{volume.Tmpfs, volume.Ramfs, volume.XFS, volume.Zram} {
		t.Run(string(kind), func(t *testing.T) {
			volumetest.Run(t, func(t *testing.T) volume.Volume { return openMounted(t, volume.Spec{Kind: kind}) })
		})
	}
}

// openMounted opens a mounted volume of the test's own, and has it taken away.
func openMounted(t *testing.T, spec volume.Spec) volume.Volume {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: mounting takes root")
	}
	p := places(t)
	p.Mounts = mounts(t)
	v := open(t, p, spec)
	t.Cleanup(func() {
		if err := errors.Join(v.Destroy(context.Background(), true), reclaimAll(&volume.Opener{Places: p})); err != nil {
			t.Error(err)
		}
	})
	return v
}

// mounts returns a directory for mount points.
func mounts(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "mounts")
}

func TestFull(t *testing.T) {
	for _, kind := range []volume.Kind{volume.Shm, volume.Disk} {
		t.Run(string(kind), func(t *testing.T) {
			dir := filepath.Join(smallTmpfs(t, "12m"), "v")
			volumetest.RunFull(t, open(t, host.Places{Shm: dir, Disk: dir}, volume.Spec{Kind: kind}))
		})
	}
}

// smallTmpfs mounts a tmpfs for the test.
func smallTmpfs(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: mounting a small tmpfs takes root")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=1777,size="+size, "ramaria-test", dir).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: mount: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "--lazy", dir).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", dir, err, out)
		}
	})
	return dir
}

// nobody is the ordinary user that root becomes for a test.
const nobody = 65534

// TestAsOrdinaryUser runs the suite again without root's rights.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: the other tests were it")
	}
	dir, err := os.MkdirTemp("", "ramaria-test-") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o700),
		os.Chown(filepath.Join(dir, "tmp"), nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "volume.test")
	if err := copyFile("/proc/self/exe", binary, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.v", "-test.run=^(TestShm|TestDisk|TestOwn.*)$")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the suite fails as uid %d: %v\n%s", nobody, err, out)
	}
	// A pattern that matches nothing would pass too.
	for _, want := range []string{"--- PASS: TestShm ", "--- PASS: TestDisk ", "--- PASS: TestShm/SweepSparesTheLiving", "--- PASS: TestOwnDirectory"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in the output of the suite:\n%s", want, out)
		}
	}
}

func copyFile(from, to string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
