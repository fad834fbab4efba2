// Tearing shows whether a write of one database page to a file in RAM is all or
// nothing when the writing process is killed in the middle of it:
//
//	go run ./tests/tearing -dir /dev/shm -tries 5000
//	go run ./tests/tearing -dir DIRECTORY-ON-XFS -tries 5000 -direct -shared
//
// A child overwrites the 16 KB blocks of a file, one pwrite(2) each, every block
// filled with one counter value. The parent kills it with SIGKILL at a random
// moment and looks for blocks that hold more than one value. docs/durability.md has
// the figures and what follows from them.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// pageSize is InnoDB's, in bytes.
	pageSize = 16 << 10
	// blocks is how many pages the file has.
	blocks = 256
	// longest is the longest that a child writes before it is killed.
	longest = 3 * time.Millisecond
	// writerArg makes this program the child.
	writerArg = "writer"
	// directArg makes it write past the page cache.
	directArg = "direct"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == writerArg {
		exit(write(os.Args[2], os.Args[3] == directArg))
	}
	dir := flag.String("dir", "/dev/shm", "directory of the file, in RAM or on disk")
	tries := flag.Int("tries", 2000, "how often to kill")
	direct := flag.Bool("direct", false, "write past the page cache (O_DIRECT)")
	shared := flag.Bool("shared", false, "write to a file that shares its blocks with another, every second 4 KB but for")
	flag.Parse()
	exit(measure(*dir, *tries, *direct, *shared))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "tearing:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// write overwrites the blocks in turn, for ever.
func write(path string, direct bool) error {
	flags := os.O_WRONLY
	if direct {
		flags |= syscall.O_DIRECT
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := os.Stdout.Write([]byte{'\n'}); err != nil { // ready
		return err
	}
	// Aligned, as O_DIRECT wants it: memory of its own begins with a page.
	page, err := syscall.Mmap(-1, 0, pageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return err
	}
	for n := uint64(1); ; n++ {
		fill(page, n)
		if _, err := f.WriteAt(page, int64(n%blocks)*pageSize); err != nil {
			return err
		}
	}
}

func fill(page []byte, n uint64) {
	for i := 0; i < len(page); i += 8 {
		binary.LittleEndian.PutUint64(page[i:], n)
	}
}

// measure kills writers and prints how many left a torn block, and where blocks tore.
func measure(dir string, tries int, direct, shared bool) (err error) {
	work, err := os.MkdirTemp(dir, "ramaria-tearing-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	path := filepath.Join(work, "pages")
	torn := 0
	where := map[int]int{}
	for range tries {
		if err := prepare(path, shared); err != nil {
			return err
		}
		if err := killWriter(path, direct); err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if len(data) != blocks*pageSize {
			return fmt.Errorf("%s has %d bytes", path, len(data))
		}
		if at := findTorn(data); at > 0 {
			torn++
			where[at]++
		}
	}
	fmt.Printf("%d of %d kills left a torn block of %d bytes\n", torn, tries, pageSize)
	for at := 1; at < pageSize; at++ {
		if where[at] > 0 {
			fmt.Printf("  %5d times at byte %d\n", where[at], at)
		}
	}
	return nil
}

// prepare rewrites the file. Of a shared one every page lies in several pieces, some of
// which must be moved when they are written to.
func prepare(path string, shared bool) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	zeros := make([]byte, blocks*pageSize)
	if err := os.WriteFile(path, zeros, 0o600); err != nil || !shared {
		return err
	}
	src, err := os.Open(path)
	if err != nil {
		return err
	}
	defer src.Close()
	other := path + ".shared"
	dst, err := os.OpenFile(other, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := sys.Reflink(int(dst.Fd()), int(src.Fd())); err != nil {
		return err
	}
	const piece = 4 << 10
	for at := 0; at < len(zeros); at += 2 * piece {
		if _, err := dst.WriteAt(zeros[:piece], int64(at)); err != nil {
			return err
		}
	}
	if err := dst.Sync(); err != nil {
		return err
	}
	return os.Rename(other, path)
}

// killWriter runs a child and kills it at a random moment.
func killWriter(path string, direct bool) error {
	runtime.LockOSThread() // the parent-death signal comes when the thread ends
	defer runtime.UnlockOSThread()
	mode := "buffered"
	if direct {
		mode = directArg
	}
	// #nosec G204 -- this program again
	cmd := exec.Command("/proc/self/exe", writerArg, path, mode)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ready, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = io.ReadFull(ready, make([]byte, 1))
	for end := time.Now().Add(rand.N(longest)); time.Now().Before(end); { // #nosec G404 -- no secret
	}
	killErr := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return errors.Join(err, killErr)
}

// findTorn returns the offset at which the first torn block changes its value, or 0.
func findTorn(data []byte) int {
	for b := 0; b < len(data); b += pageSize {
		page := data[b : b+pageSize]
		if bytes.Equal(page[8:], page[:pageSize-8]) {
			continue
		}
		for i := 8; i < pageSize; i += 8 {
			if !bytes.Equal(page[i:i+8], page[:8]) {
				return i
			}
		}
	}
	return 0
}
