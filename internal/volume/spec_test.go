package volume

import (
	"math"
	"strings"
	"testing"
)

func TestParseSpec(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Spec
		err  string
	}{
		{"shm", Spec{Shm, 0}, ""},
		{"disk", Spec{Disk, 0}, ""},
		{"auto", Spec{Auto, 0}, ""},
		{"shm:2G", Spec{Shm, 2 << 30}, ""},
		{"disk:1536M", Spec{Disk, 1536 << 20}, ""},
		{"shm:1000", Spec{Shm, 1000}, ""},
		{"", Spec{}, "no such kind"},
		{"ram", Spec{}, "no such kind"},
		{"SHM", Spec{}, "no such kind"},
		{"xfs:2G", Spec{XFS, 2 << 30}, ""},
		{"zram", Spec{Zram, 0}, ""},
		{"tmpfs:1G", Spec{Tmpfs, 1 << 30}, ""},
		{"ramfs", Spec{Ramfs, 0}, ""},
		{"shm:", Spec{}, "not a size"},
		{"shm:0", Spec{}, "the size is zero"},
		{"shm:-1G", Spec{}, "not a size"},
		{"auto:2G", Spec{}, "hint: use --volume shm:2G"},
	} {
		got, err := ParseSpec(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "\nhint: ") {
				t.Errorf("ParseSpec(%q): got error %v, want %q and a hint", c.in, err, c.err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("ParseSpec(%q) = %+v, %v; want %+v", c.in, got, err, c.want)
		}
		if again, err := ParseSpec(got.String()); err != nil || again != got {
			t.Errorf("%q does not read as itself: %+v, %v", got, again, err)
		}
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "4096": 4096, "64M": 64 << 20, "64m": 64 << 20, "2G": 2 << 30, "1.5G": 3 << 29, "1T": 1 << 40,
		"512K": 512 << 10, "64MB": 64 << 20, "64MiB": 64 << 20, "10 GB": 10 << 30, "9223372036854775807": math.MaxInt64,
	} {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "G", "B", "-1", "+1", "1e9", "inf", "NaN", "0x10", "1.2.3", "2X", "8388608T", "1GG", "i", "5i"} {
		if got, err := ParseSize(in); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", in, got)
		}
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KB", 1536: "1.5 KB", 300 << 10: "300 KB", 1<<20 - 1: "1 MB",
		64 << 20: "64 MB", 3 << 29: "1.5 GB", 24 << 30: "24 GB", 1 << 40: "1 TB", -1024: "-1 KB",
		math.MaxInt64: "8388608 TB",
	} {
		if got := FormatBytes(n); got != want {
			t.Errorf("FormatBytes(%d) = %q, want %q", n, got, want)
		}
	}
}
