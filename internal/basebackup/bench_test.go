package basebackup_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/basebackup"
)

// rows fills a page as InnoDB fills one of a table in the order of its keys: a header with a checksum
// and a log sequence number, 15/16 of records with numbers, words and digits, and the rest zeros.
func rows(b []byte, rng *rand.Rand, n uint64) {
	words := [...]string{"invoice", "street", "customer", "delivered", "Müller", "pending", "order", "colour", "north", "quantity", "2024-05-17", "shipped"}
	clear(b)
	binary.BigEndian.PutUint32(b, rng.Uint32())
	binary.BigEndian.PutUint32(b[4:], uint32(n))
	binary.BigEndian.PutUint64(b[16:], n*2711+rng.Uint64N(2711))
	for at := 120; at < page*15/16-200; {
		b[at] = byte(rng.IntN(40))
		binary.BigEndian.PutUint16(b[at+3:], uint16(at))
		binary.BigEndian.PutUint32(b[at+5:], uint32(n*70)+uint32(at/200))
		binary.BigEndian.PutUint64(b[at+9:], rng.Uint64()) // transaction and roll pointer
		binary.BigEndian.PutUint32(b[at+17:], rng.Uint32N(1e6))
		at += 21
		for range 10 {
			at += copy(b[at:], words[rng.IntN(len(words))])
		}
		at += copy(b[at:], fmt.Sprintf("%011d-%011d-%011d", rng.Uint64N(1e11), rng.Uint64N(1e11), rng.Uint64N(1e11)))
	}
}

const benchPages = 64 << 10

func temp(b *testing.B, at string) string {
	b.Helper()
	dir, err := os.MkdirTemp(at, "basebackup-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// tables makes 1 GB of what tables look like, in shared memory.
func tables(b *testing.B, rng *rand.Rand) (dir string) {
	b.Helper()
	dir = temp(b, "/dev/shm")
	one := make([]byte, page)
	for i := range 8 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("t%d.ibd", i)))
		if err != nil {
			b.Fatal(err)
		}
		for n := range int64(benchPages / 8) {
			rows(one, rng, uint64(n))
			if _, err := f.WriteAt(one, n*page); err != nil {
				b.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkBase writes and restores 1 GB, from and into shared memory; the archive is on the disk of
// /var/tmp. MB/s are those of the data, changed or not.
func BenchmarkBase(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	data, d := tables(b, rng), archive.OSDisk{Dir: temp(b, "/var/tmp")}
	fresh := make([]byte, page)
	id := uint32(0)
	report := func(b *testing.B, w basebackup.Written) {
		b.SetBytes(benchPages * page)
		b.ReportMetric(float64(w.Bytes)/1e6, "MB_written")
	}
	var full *basebackup.Index
	b.Run("full", func(b *testing.B) {
		var w basebackup.Written
		for b.Loop() {
			id++
			full, w = write(b, d, id, data, nil, nil)
		}
		report(b, w)
	})
	if full == nil {
		return
	}
	if err := basebackup.Remove(d, []*basebackup.Index{full}); err != nil {
		b.Fatal(err)
	}
	b.Run("changed 1 percent", func(b *testing.B) {
		var w basebackup.Written
		last := full
		for b.Loop() {
			b.StopTimer()
			for range benchPages / 100 {
				rows(fresh, rng, rng.Uint64())
				f, err := os.OpenFile(filepath.Join(data, fmt.Sprintf("t%d.ibd", rng.IntN(8))), os.O_WRONLY, 0)
				if err != nil {
					b.Fatal(err)
				}
				_, err = f.WriteAt(fresh, rng.Int64N(benchPages/8)*page)
				if err := errors.Join(err, f.Close()); err != nil {
					b.Fatal(err)
				}
			}
			id++
			b.StartTimer()
			last, w = write(b, d, id, data, last, nil)
		}
		report(b, w)
	})
	for name, f := range map[string]func(b *testing.B){
		"restore": func(b *testing.B) {
			b.StopTimer()
			to := temp(b, "/dev/shm")
			b.StartTimer()
			if err := basebackup.Restore(b.Context(), d, full, to, nil); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if err := os.RemoveAll(to); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		},
		"check": func(b *testing.B) {
			if err := basebackup.Check(b.Context(), d, full, nil); err != nil {
				b.Fatal(err)
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f(b)
			}
			b.SetBytes(benchPages * page)
		})
	}
}

// BenchmarkAppendBeside is the time of an append to the log, which a commit waits for, on a disk that a
// base is written to meanwhile.
func BenchmarkAppendBeside(b *testing.B) {
	data, d := tables(b, rand.New(rand.NewPCG(1, 2))), archive.OSDisk{Dir: temp(b, "/var/tmp")}
	for _, beside := range []bool{false, true} {
		b.Run(map[bool]string{false: "nothing", true: "base"}[beside], func(b *testing.B) {
			l, err := archive.CreateLog(d, archive.LogID{Epoch: 1 + uint32(b.N)})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			ctx, cancel := context.WithCancel(b.Context())
			var writing errgroup.Group
			writing.Go(func() error {
				for id := uint32(1); beside && ctx.Err() == nil; id++ {
					if _, _, err := basebackup.Write(ctx, d, testID, id, data, nil, nil); err != nil && ctx.Err() == nil {
						return err
					}
				}
				return nil
			})
			group, p := noise(1, 2000), archive.Position{}
			took := make([]time.Duration, 0, b.N)
			for b.Loop() {
				began := time.Now()
				if err := l.Append(p, group); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
				p.Offset += int64(len(group))
			}
			cancel()
			if err := writing.Wait(); err != nil {
				b.Fatal(err)
			}
			slices.Sort(took)
			for name, at := range map[string]int{"p50_us": len(took) / 2, "p99_us": len(took) * 99 / 100, "p999_us": len(took) * 999 / 1000, "max_us": len(took) - 1} {
				b.ReportMetric(float64(took[at].Microseconds()), name)
			}
		})
	}
}
