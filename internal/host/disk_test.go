package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/sys"
)

func TestSlowWrites(t *testing.T) {
	dir := t.TempDir()
	number, err := sys.DeviceOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing known":            {nil, ""},
		"an SSD":                   {map[string]string{"disk/queue/rotational": "0\n", "disk/device/vendor": "ATA     \n"}, ""},
		"a disk":                   {map[string]string{"disk/queue/rotational": "1\n", "disk/device/vendor": "ATA     \n"}, "it rotates"},
		"one of a virtual machine": {map[string]string{"disk/queue/rotational": "1\n", "disk/dev": "254:0\n"}, ""},
		"mounted sync":             {map[string]string{"proc/self/mountinfo": "22 1 " + number + " / / rw,relatime - ext4 /dev/a rw,sync,errors=continue\n"}, "it is mounted sync"},
		"not mounted sync":         {map[string]string{"proc/self/mountinfo": "22 1 " + number + " / / rw - ext4 /dev/a rw,async\n23 1 0:99 / /b rw,sync - ext4 /dev/b rw\n"}, ""},
		"throttled": {map[string]string{
			"disk/queue/rotational": "0\n", "disk/dev": "254:0\n", "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/io.max": "8:0 wbps=1 rbps=max\n",
			"sys/fs/cgroup/a/io.max": "254:0 rbps=max wbps=104857600 riops=max wiops=max\n",
		}, "its control group may write 104857600 bytes a second"},
		"not throttled": {map[string]string{
			"disk/queue/rotational": "0\n", "disk/dev": "254:0\n", "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/io.max": "254:0 rbps=1 wbps=max riops=max wiops=max\n",
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range c.files {
				file = strings.Replace(file, "disk/", "sys/devices/disk/", 1)
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			// A partition of the disk.
			for _, d := range []string{"sys/dev/block", "sys/devices/disk/part"} {
				if err := os.MkdirAll(filepath.Join(root, d), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("../../devices/disk/part", filepath.Join(root, "sys/dev/block", number)); err != nil {
				t.Fatal(err)
			}
			if got := (Host{Root: root}).SlowWrites(dir); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
