package software

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

// unpackJar writes what a server needs of a jar's files below prefix into root.
func unpackJar(ctx context.Context, archive, prefix, root string) (err error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer z.Close()
	u, err := newUnpacker(root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.close()) }()
	for _, entry := range z.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		inside, ok := strings.CutPrefix(entry.Name, prefix)
		if !ok || !neededOfJar(inside) {
			continue
		}
		name, ok := localName(inside)
		if !ok {
			return fmt.Errorf("the jar holds a file %q", entry.Name)
		}
		if err := unpackEntry(u, entry, name); err != nil {
			return err
		}
	}
	return nil
}

func unpackEntry(u *unpacker, entry *zip.File, name string) error {
	r, err := entry.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if !strings.HasPrefix(name, "bin/") {
		return u.file(name, false, r)
	}
	content, err := loadedPart(r)
	if err != nil {
		return err
	}
	return u.file(name, true, content)
}

// neededOfJar leaves out the plugins of other engines, libraries to link with, and tools.
func neededOfJar(name string) bool {
	switch dir := path.Dir(name); {
	case strings.HasSuffix(name, "/"):
		return false
	case dir == "bin":
		return neededProgram(path.Base(name))
	case dir == "share":
		return strings.HasSuffix(name, ".sql")
	case dir == "share/charsets":
		return true
	default:
		return path.Dir(dir) == "share" && path.Base(name) == "errmsg.sys"
	}
}

// neededProgram reports whether a program of that name is kept of a server.
func neededProgram(name string) bool {
	return slices.ContainsFunc(server.Families, func(f *server.Family) bool {
		return slices.Contains(f.ProgramNames(), name)
	})
}

// Offsets in the header of a 64-bit little-endian ELF file and its program
// headers, and the type of a loaded segment. Source: elf(5).
const (
	elfHeader    = 64
	elfPhoff     = 32
	elfShoff     = 40
	elfPhentsize = 54
	elfPhnum     = 56
	elfShentsize = 58
	elfPhOffset  = 8
	elfPhFilesz  = 32
	elfPhdrSize  = 56
	elfPtLoad    = 1
	// elfPeek is enough of a file to hold the header and all program headers, which
	// every linker puts right behind it.
	elfPeek = 4096
)

// loadedPart returns the part of an ELF program that the kernel and the loader
// read, which is all but the sections for debuggers at its end: the daemon of the
// jar is 314 MB with them and 30 MB without. Anything else is returned as it is.
func loadedPart(r io.Reader) (io.Reader, error) {
	head := make([]byte, elfPeek)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, err
	}
	head = head[:n]
	whole := io.MultiReader(bytes.NewReader(head), r)
	if n < elfPeek || !bytes.HasPrefix(head, []byte("\x7fELF\x02\x01")) {
		return whole, nil
	}
	le := binary.LittleEndian
	phoff, phnum := le.Uint64(head[elfPhoff:]), uint64(le.Uint16(head[elfPhnum:]))
	if le.Uint16(head[elfPhentsize:]) != elfPhdrSize || phoff < elfHeader || phoff > elfPeek || phoff+phnum*elfPhdrSize > elfPeek {
		return whole, nil
	}
	end := uint64(0)
	for i := range phnum {
		ph := head[phoff+i*elfPhdrSize:]
		if le.Uint32(ph) == elfPtLoad {
			end = max(end, le.Uint64(ph[elfPhOffset:])+le.Uint64(ph[elfPhFilesz:]))
		}
	}
	if end < elfPeek {
		return whole, nil
	}
	clear(head[elfShoff : elfShoff+8])           // there is no table of sections any more
	clear(head[elfShentsize : elfShentsize+2*3]) // e_shentsize, e_shnum, e_shstrndx
	return io.LimitReader(whole, int64(end)), nil
}
