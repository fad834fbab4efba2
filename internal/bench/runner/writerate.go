package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	// rateWriters write at once, so that the time of one write does not bound their rate.
	rateWriters = 4
	// rateBytes is the size of the file that they write to, each to a part of its own.
	rateBytes = 4 << 20
	// rateWarmup is what is not counted: a throttle lets some writes through at once.
	rateWarmup = 300 * time.Millisecond
	// rateTime is for how long writes are counted, each kind.
	rateTime = time.Second
)

// WriteRate is how many writes of 4 KiB a second were made.
type WriteRate struct {
	// Plain are those past the page cache, and Synced those that were synchronous besides.
	Plain  float64 `json:"plain"`
	Synced float64 `json:"synced"`
}

// MeasureWriteRate measures a directory, in a file that is removed afterwards. It takes three seconds, and ends
// with ctx, which is an error.
func MeasureWriteRate(ctx context.Context, dir string) (r WriteRate, err error) {
	f, err := os.CreateTemp(dir, "ramaria-writes-")
	if err != nil {
		return r, fmt.Errorf("measure writes: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	// All of it is written before: an append would cost a commit of the file system's journal besides.
	if _, err := f.Write(make([]byte, rateBytes)); err != nil {
		return r, fmt.Errorf("measure writes: %w", err)
	}
	if err := f.Sync(); err != nil {
		return r, fmt.Errorf("measure writes: %w", err)
	}
	for _, m := range []struct {
		flags int
		to    *float64
	}{{syscall.O_DIRECT, &r.Plain}, {syscall.O_DIRECT | syscall.O_DSYNC, &r.Synced}} {
		if *m.to, err = writesASecond(ctx, f.Name(), m.flags); err != nil {
			return r, fmt.Errorf("measure writes: %w", err)
		}
	}
	return r, nil
}

func writesASecond(ctx context.Context, path string, flags int) (float64, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var written atomic.Int64
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var writers sync.WaitGroup
	errs := make([]error, rateWriters)
	for i := range rateWriters {
		writers.Go(func() {
			errs[i] = writeOver(ctx, f, i, &written)
			if errs[i] != nil {
				stop()
			}
		})
	}
	rate, err := rateOf(ctx, &written)
	stop()
	writers.Wait()
	return rate, errors.Join(errors.Join(errs...), err)
}

// rateOf counts for a while.
func rateOf(ctx context.Context, written *atomic.Int64) (float64, error) {
	pause := func(d time.Duration) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
	if err := pause(rateWarmup); err != nil {
		return 0, err
	}
	began, before := time.Now(), written.Load()
	err := pause(rateTime)
	return float64(written.Load()-before) / time.Since(began).Seconds(), err
}

// writeOver writes to a part of a file again and again.
func writeOver(ctx context.Context, f *os.File, part int, written *atomic.Int64) error {
	const blocks = rateBytes / rateWriters / fsyncBlock
	block := alignedBlock()
	for i := 0; ctx.Err() == nil; i++ {
		if _, err := f.WriteAt(block, int64(part*blocks+i%blocks)*fsyncBlock); err != nil {
			return err
		}
		written.Add(1)
	}
	return nil
}

// alignedBlock begins at a multiple of its size in memory, as direct I/O wants it.
func alignedBlock() []byte {
	b := make([]byte, 2*fsyncBlock)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & (fsyncBlock - 1)) // #nosec G103 -- an address is looked at, and not used
	return b[skip:][:fsyncBlock:fsyncBlock]
}
