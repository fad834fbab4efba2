package volume_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// unfit checks that a kind cannot be had, is told so the same way by Open and by Fit,
// and that Choose and Foresee take shm instead, and say why in one line.
func unfit(t *testing.T, o *volume.Opener, kind volume.Kind, want, hint string) {
	t.Helper()
	_, err := o.Open(t.Context(), volume.Spec{Kind: kind})
	for what, err := range map[string]error{"open": err, "fit": o.Fit(t.Context(), kind)} {
		if !errors.Is(err, volume.ErrUnfit) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\nhint: "+hint) {
			t.Errorf("%s: got %v, want %q and hint %q", what, err, want, hint)
		}
	}
	if kind != volume.XFS {
		return
	}
	foreseen, before, err := o.Foresee(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v, why, err := o.Choose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Destroy(t.Context(), true); err != nil {
		t.Error(err)
	}
	if v.Kind() != volume.Shm || foreseen != volume.Shm || before != why || strings.Contains(why, "\n") || o.Places.Mounts != "" && !strings.Contains(why, "; not xfs: "+want) {
		t.Errorf("chose %s, %q; foreseen was %s, %q", v.Kind(), why, foreseen, before)
	}
}

func TestUnfitNoMkfs(t *testing.T) {
	p := mountedPlaces(t)
	missing := func(context.Context) ([]string, error) {
		return nil, errors.Join(volume.ErrUnfit, errors.New("mkfs.xfs: not found\nhint: apt-get install xfsprogs"))
	}
	for _, kind := range []volume.Kind{volume.XFS, volume.Zram} {
		_, err := (&volume.Opener{Places: p, MkfsXFS: missing}).Open(t.Context(), volume.Spec{Kind: kind})
		if !errors.Is(err, volume.ErrUnfit) || !strings.Contains(err.Error(), "hint: apt-get install xfsprogs") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	v, why, err := (&volume.Opener{Places: p, MkfsXFS: missing}).Choose(t.Context())
	if err != nil || v.Kind() != volume.Shm || strings.Contains(why, "\n") {
		t.Errorf("chose %v, %q, %v", v, why, err)
	}
	broken := func(context.Context) ([]string, error) { return []string{"/bin/false"}, nil }
	if _, err := (&volume.Opener{Places: p, MkfsXFS: broken}).Open(t.Context(), volume.Spec{Kind: volume.XFS}); err == nil || !strings.Contains(err.Error(), "mkfs.xfs: exit status 1") {
		t.Errorf("one that fails: %v", err)
	}
}

func TestUnfitKernel(t *testing.T) {
	p := mountedPlaces(t)
	o := &volume.Opener{Places: p}
	o.NameAs(func(volume.Kind) string { return "no-such-fs" })
	for _, kind := range mountedKinds {
		unfit(t, o, kind, "mount no-such-fs: no such device", "modprobe ")
	}
}

func TestUnfitNotRoot(t *testing.T) {
	p := places(t)
	for _, kind := range mountedKinds {
		unfit(t, &volume.Opener{Places: p}, kind, "only root can mount", "--volume shm")
	}
}

// TestUnfitMachine runs children on machines that lack something.
func TestUnfitMachine(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  volume.Kind
		hide  string // a path that does not exist there
		flags uintptr
		want  string
	}{
		{name: "no loop devices", kind: volume.XFS, hide: "/dev/loop-control", want: "no loop device to be had"},
		{name: "no zram", kind: volume.Zram, hide: "/sys/class/zram-control", want: "this kernel has no zram devices"},
		{name: "root of a container", kind: volume.XFS, flags: syscall.CLONE_NEWUSER, want: "operation not permitted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mountedPlaces(t)
			p.Shm = filepath.Join(filepath.Dir(p.Shm), "v")
			run := func(work string) string {
				cmd := child(t, work, c.kind, p)
				cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS | c.flags
				if c.flags != 0 {
					cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
					cmd.SysProcAttr.GidMappings = cmd.SysProcAttr.UidMappings
				}
				if c.hide != "" {
					over := "mount --make-rprivate / && if [ -d " + c.hide + " ]; then mount -t tmpfs none " + c.hide + "; else mount --bind " + c.hide + " " + c.hide + " && mount -o remount,bind,nodev " + c.hide + "; fi && exec /proc/self/exe"
					self, err := os.Executable()
					if err != nil {
						t.Fatal(err)
					}
					sh := exec.Command("sh", "-c", strings.ReplaceAll(over, "/proc/self/exe", self))
					sh.Env, sh.SysProcAttr = cmd.Env, cmd.SysProcAttr
					cmd = sh
				}
				out, err := cmd.CombinedOutput()
				t.Logf("%s: %v\n%s", work, err, out)
				return string(out)
			}
			for _, work := range []string{"fit", "open"} {
				if out := run(work); !strings.Contains(out, "not possible here: ") || !strings.Contains(out, c.want) || !strings.Contains(out, "hint: ") {
					t.Errorf("%s: want %q", work, c.want)
				}
			}
			if out := run("choose"); c.kind == volume.XFS && !strings.HasPrefix(out, "shm\nvolume shm: ") {
				t.Error("it did not choose shm")
			}
		})
	}
}

// TestPlaceTaken puts something where the volume belongs.
func TestPlaceTaken(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(t *testing.T, dir string) error
		want string // in the error; "" for none
	}{
		{name: "empty directory", put: func(_ *testing.T, dir string) error { return os.Mkdir(dir, 0o755) }},
		{name: "what a killed clone left", put: func(_ *testing.T, dir string) error { return os.MkdirAll(dir+"/.partial-x/y", 0o755) }},
		{name: "directory", put: func(_ *testing.T, dir string) error { return os.MkdirAll(dir+"/precious", 0o755) }, want: "what ramaria did not put there"},
		{name: "file", put: func(_ *testing.T, dir string) error { return os.WriteFile(dir, nil, 0o600) }, want: "it is not a directory"},
		{name: "link", put: func(t *testing.T, dir string) error { return os.Symlink(t.TempDir(), dir) }, want: "symbolic link"},
		{name: "foreign mount", put: func(t *testing.T, dir string) error {
			if err := os.Mkdir(dir, 0o711); err != nil {
				return err
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(dir, 0); err != nil {
					t.Error(err)
				}
			})
			return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0711")
		}, want: "is not a volume of kind"},
	} {
		for _, kind := range []volume.Kind{volume.Tmpfs, volume.XFS} {
			t.Run(c.name+"/"+string(kind), func(t *testing.T) {
				p := placesOfTaken(t)
				dir := filepath.Join(p.Mounts, string(kind))
				if err := errors.Join(os.Mkdir(p.Mounts, 0o711), c.put(t, dir)); err != nil {
					t.Fatal(err)
				}
				o := &volume.Opener{Places: p}
				v, err := o.Open(t.Context(), volume.Spec{Kind: kind, Size: smallSize})
				if c.want != "" {
					if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "\nhint: ") {
						t.Errorf("got %v, want %q and a hint", err, c.want)
					}
					if _, err := os.Lstat(dir); err != nil {
						t.Errorf("what was there is not: %v", err)
					}
					if c.name == "foreign mount" {
						if err := o.At(kind).Destroy(t.Context(), false); err == nil {
							t.Error("the foreign mount was taken away without force")
						}
						if left, _ := os.ReadDir(dir); len(left) > 0 {
							t.Errorf("something was written to the foreign mount: %v", left)
						}
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := v.Destroy(t.Context(), false); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// placesOfTaken is mountedPlaces for tests that leave something in the place.
func placesOfTaken(t *testing.T) host.Places {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: mounting takes root")
	}
	p := places(t)
	p.Mounts = mounts(t)
	return p
}
