package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
)

// machineWith is a machine that has only these files, by path; one that begins with "-> " is a
// link.
func machineWith(t *testing.T, files map[string]string) host.Host {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, file)
		} else {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return host.Host{Root: root}
}

// counters are those of a block device that wrote 1000 sectors.
const counters = "     100        0     2000       30      200        0     1000      500        0      400      530        0        0        0        0        0        0\n"

// TestInRAM: a file system in memory is known by its type, or by its device.
func TestInRAM(t *testing.T) {
	h := machineWith(t, map[string]string{
		"proc/self/mountinfo": "20 1 8:2 / / rw - ext4 /dev/sda2 rw\n21 20 0:30 / /tmp rw - tmpfs none rw\n22 20 0:31 / /ramfs rw - ramfs x rw\n" +
			"23 20 252:0 / /zram rw - xfs /dev/zram0 rw\n24 20 1:0 / /brd rw - ext4 /dev/ram15 rw\n25 20 7:0 / /loop rw - xfs /dev/loop0 rw\n26 20 0:40 / /over rw - overlay overlay rw\n",
	})
	for path, want := range map[string]string{"/no-such/x": "", "/loop/x": "", "/over/x": "", "/tmp/no-such": "tmpfs", "/ramfs/x": "ramfs", "/zram/x": "xfs on /dev/zram0", "/brd/x": "ext4 on /dev/ram15"} {
		if how, yes := InRAM(h, path); how != want || yes != (want != "") {
			t.Errorf("%s: %q, %v, want %q", path, how, yes, want)
		}
	}
}

func TestDeviceOf(t *testing.T) {
	h := machineWith(t, map[string]string{
		"proc/self/mountinfo": "20 1 8:2 / / rw - ext4 /dev/sda2 rw\n21 20 0:30 / /dev/shm rw - tmpfs tmpfs rw\n" +
			"22 20 0:41 /sub /srv rw - btrfs /dev/mapper/data rw\n23 20 0:50 / /net rw - nfs server:/export rw\n",
		"sys/dev/block/8:2/stat":       counters,
		"sys/dev/block/253:7/stat":     counters,
		"dev/dm-7":                     "",
		"dev/mapper/data":              "-> ../dm-7",
		"sys/class/block/dm-7/dev":     "253:7\n",
		"sys/class/block/tmpfs-no/dev": "1:1\n",
	})
	for path, want := range map[string]string{"/var/data-of-nobody": "8:2", "/dev/shm/x": "", "/srv/x": "253:7", "/net/x": ""} {
		d := DeviceOf(h, path)
		if d.number != want {
			t.Errorf("%s lies on %q, want %q", path, d.number, want)
		}
		n, err := d.written()
		if err != nil || (want != "") != (n == 1000*sectorBytes) {
			t.Errorf("%s: written %d, %v", path, n, err)
		}
	}
	for name, text := range map[string]string{"short": "1 2 3", "not a number": "1 2 3 4 5 6 x 8"} {
		h := machineWith(t, map[string]string{"sys/dev/block/8:2/stat": text})
		if _, err := (Device{h, "8:2"}).written(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
