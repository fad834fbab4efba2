package volume_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
	"github.com/ramaria-db/ramaria/internal/volume/volumetest"
)

// BenchmarkClone clones a data directory of 25 MB in 130 files, alternating with
// cp -a of the same, and gives the medians of both; cp's includes starting a
// process, which is what the shell pays too. RAMARIA_BENCH_DATADIR names a real data
// directory to use instead.
func BenchmarkClone(b *testing.B) {
	for _, kind := range []volume.Kind{volume.Shm, volume.Disk} {
		b.Run(string(kind), func(b *testing.B) { benchmarkClone(b, kind, false) })
	}
	b.Run("shm-dug", func(b *testing.B) { benchmarkClone(b, volume.Shm, true) })
}

func benchmarkClone(b *testing.B, kind volume.Kind, dig bool) {
	v := open(b, places(b), volume.Spec{Kind: kind})
	src := filepath.Join(v.Dir(), "images", "src")
	if real := os.Getenv("RAMARIA_BENCH_DATADIR"); real != "" {
		if err := v.Clone(b.Context(), real, src); err != nil {
			b.Fatal(err)
		}
	} else {
		volumetest.WriteDatadir(b, src)
	}
	if dig {
		digTree(b, src)
	}
	size, err := sys.DiskUsage(src)
	if err != nil {
		b.Fatal(err)
	}
	dst := filepath.Join(v.Dir(), "instances", "dst")
	var clone, cp, remove []time.Duration
	timed := func(f func() error) time.Duration {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	for b.Loop() {
		clone = append(clone, timed(func() error { return v.Clone(b.Context(), src, dst) }))
		remove = append(remove, timed(func() error { return v.Remove(b.Context(), dst) }))
		cp = append(cp, timed(func() error { return exec.Command("cp", "-a", src, dst).Run() }))
		if err := v.Remove(b.Context(), dst); err != nil {
			b.Fatal(err)
		}
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2].Microseconds()) / 1000
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(clone), "clone-ms")
	b.ReportMetric(median(cp), "cp-ms")
	b.ReportMetric(median(remove), "remove-ms")
	b.ReportMetric(float64(size)/(1<<20), "MB")
}

func digTree(b *testing.B, root string) {
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			_, err = sys.DigHoles(p)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}
