package archive_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// BenchmarkAppend appends what a group of commits writes, on the disk of /var/tmp.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{300, 2000, 20000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			dir, err := os.MkdirTemp("/var/tmp", "archive-")
			if err != nil {
				b.Fatal(err)
			}
			defer os.RemoveAll(dir)
			l, err := archive.CreateLog(archive.OSDisk{Dir: dir}, testID)
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			data := content(0, 0, size)
			var p archive.Position
			took := make([]time.Duration, 0, b.N)
			for b.Loop() {
				began := time.Now()
				if err := l.Append(p, data); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
				p.Offset += int64(size)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50_us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99_us")
		})
	}
}
