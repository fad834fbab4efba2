package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/dumpfile/web"
	"github.com/ramaria-db/ramaria/internal/progress"
)

// Stdin is the path that means standard input.
const Stdin = "-"

// dumpFile is a dump that is there to be read.
type dumpFile struct {
	// name is what it is called, and path where it is, Stdin for standard input, or a URL.
	name, path string
	stdin      io.Reader
	// web is what comes from a URL, once it was asked for.
	web *web.Dump
	// info is nil for a standard input that is no file, or is closed.
	info fs.FileInfo
	// dir says that it is a directory by another program, of size bytes.
	dir  bool
	size int64
}

// findDump looks at a dump.
func findDump(path string, stdin io.Reader) (dumpFile, error) {
	if path == Stdin {
		d := dumpFile{name: "stdin", path: path, stdin: stdin}
		if f, ok := stdin.(*os.File); ok {
			if info, err := f.Stat(); err == nil { // else reading it will tell
				d.info = info
			}
		}
		return d, nil
	}
	if web.IsURL(path) {
		return dumpFile{name: shownName(path), path: path}, asRequest(web.Check(path))
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dumpFile{}, fmt.Errorf("open dump %s: no such file\nhint: name a file, a URL, or - for standard input", path)
	case err != nil:
		return dumpFile{}, fmt.Errorf("open dump: %w", err)
	case info.IsDir():
		return findDir(path, info)
	}
	return dumpFile{name: filepath.Base(path), path: path, info: info}, nil
}

// shownName is what a dump is called in messages: the last part of its path or URL.
func shownName(path string) string {
	if web.IsURL(path) {
		return cmp.Or(web.FileName(path), web.Redacted(path))
	}
	return filepath.Base(path)
}

// shownPaths are paths and URLs as they may be written down.
func shownPaths(paths []string) []string {
	var shown []string
	for _, path := range paths {
		if web.IsURL(path) {
			path = web.Redacted(path)
		}
		shown = append(shown, path)
	}
	return shown
}

// connect asks for a dump at a URL; others need no asking. close ends that.
func (d *dumpFile) connect(ctx context.Context) error {
	if !web.IsURL(d.path) {
		return nil
	}
	var err error
	if d.web, err = web.Open(ctx, d.path); err != nil {
		return asRequest(err)
	}
	return nil
}

func (d *dumpFile) close() error {
	if d.web == nil {
		return nil
	}
	return d.web.Close()
}

// regular reports whether the dump, or standard input, is a regular file.
func (d dumpFile) regular() bool { return d.info != nil && d.info.Mode().IsRegular() }

// open opens the dump; what is read goes to watch as well. One that is no file ends with ctx.
func (d dumpFile) open(ctx context.Context, watch io.Writer) (*dumpfile.Reader, error) {
	if d.web != nil {
		return dumpfile.NewReader(io.TeeReader(d.web, watch), d.name)
	}
	if d.path == Stdin {
		return dumpfile.NewReader(io.TeeReader(Interruptible(ctx, d.stdin), watch), d.name)
	}
	if d.regular() {
		return dumpfile.OpenWatched(d.path, d.path, watch)
	}
	f, err := os.Open(d.path)
	if err != nil {
		return nil, fmt.Errorf("open dump: %w", err)
	}
	return dumpfile.NewReader(io.TeeReader(Interruptible(ctx, f), watch), d.name)
}

// bar returns a bar for reading the dump; none without a terminal, where the line at the end is
// enough.
func (e *Engine) bar(does string, d dumpFile) io.WriteCloser {
	size := int64(-1)
	switch {
	case d.web != nil:
		size = d.web.Size
	case d.dir:
		size = d.size
	case d.path != Stdin && d.regular():
		size = d.info.Size()
	}
	w, terminal := e.progress()
	return progress.Quiet(w, terminal, does+" "+d.name, size)
}

// Interruptible returns a reader of r that fails once ctx ends. A read of a pipe cannot be
// interrupted: it goes on in the background until the program ends.
func Interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.CopyBuffer(in, struct{ io.Reader }{r}, make([]byte, pipeSize))
		in.CloseWithError(err)
	}()
	return out
}

// pipeSize is the size of reads from a pipe, in bytes.
const pipeSize = 256 << 10
