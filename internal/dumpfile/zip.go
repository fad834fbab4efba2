package dumpfile

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// zipEncrypted is the bit of a member's flags that says so.
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.4.4
const zipEncrypted = 1 << 0

// openZip returns the dump in a zip archive. The package checks its size and its sum.
func (d *Reader) openZip(at io.ReaderAt, size int64) (io.Reader, error) {
	z, err := zip.NewReader(at, size)
	switch {
	case errors.Is(err, zip.ErrFormat):
		return nil, &dump.Error{File: d.name, Msg: "the zip archive is cut short or damaged: the directory of what is in it, which stands at its end, is not there", Hint: "copy or make the dump again"}
	case err != nil:
		return nil, err
	}
	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { return flate.NewReader(bufio.NewReaderSize(r, readSize)) })
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	i, err := d.chooseMember(names)
	if err != nil {
		return nil, err
	}
	f := z.File[i]
	if err := d.checkMember(f.Name, f.Flags, f.Method); err != nil {
		return nil, err
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	d.close = append(d.close, r.Close)
	return zipReader{r}, nil
}

// zipReader says what is wrong with a member in other words than the package.
type zipReader struct{ io.Reader }

func (z zipReader) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p)
	if errors.Is(err, zip.ErrChecksum) {
		err = errZipSum
	}
	return n, err
}

// errZipSum says that what was unpacked is not what was packed.
var errZipSum = errors.New("its checksum is another")

// checkMember refuses what cannot be unpacked.
func (d *Reader) checkMember(name string, flags, method uint16) error {
	switch {
	case flags&zipEncrypted != 0:
		return &dump.Error{File: d.name, Msg: name + " in this zip archive is encrypted", Hint: "unpack it, with its password: unzip -p " + d.name + " > dump.sql"}
	case method != zip.Store && method != zip.Deflate:
		return &dump.Error{File: d.name, Msg: fmt.Sprintf("%s in this zip archive is packed by method %d: only deflate (8) and stored ones (0) are read", name, method), Hint: "unpack it first: 7z x " + d.name}
	}
	return nil
}

// besides are members that archivers add of their own, and directories.
func besides(name string) bool {
	return strings.HasSuffix(name, "/") || strings.HasPrefix(name, "__MACOSX/") || path.Base(name) == ".DS_Store"
}

// isDump says that a member is a dump by its name; "-" is what zip(1) has read from a pipe.
func isDump(name string) bool {
	base := path.Base(name)
	return base == "-" || trimEnding(base) != base
}

// chooseMember returns the number of the member that is the dump: the only one with the name of a dump, or the only one at all.
func (d *Reader) chooseMember(names []string) (int, error) {
	var dumps, files []string
	for _, name := range names {
		if besides(name) {
			continue
		}
		files = append(files, name)
		if isDump(name) {
			dumps = append(dumps, name)
		}
	}
	chosen := dumps
	if len(dumps) == 0 {
		chosen = files
	}
	switch {
	case slices.Contains(files, "[Content_Types].xml"):
		return 0, &dump.Error{File: d.name, Msg: "this is a document of an office program, and no dump", Hint: "save the table as CSV; " + strings.ReplaceAll(fromTable, "%s", d.name)}
	case len(files) == 0:
		return 0, &dump.Error{File: d.name, Msg: "there is no file in this zip archive", Hint: "make the dump again"}
	case len(chosen) > 1:
		return 0, d.severalMembers(chosen)
	}
	if others := slices.DeleteFunc(slices.Clone(files), func(name string) bool { return name == chosen[0] }); len(others) > 0 {
		d.notes = append(d.notes, fmt.Sprintf("note: %s is read of %s, and not %s", chosen[0], d.name, some(others)))
	}
	return slices.Index(names, chosen[0]), nil
}

// severalMembers refuses an archive of several dumps: in which order, and whether into one database, nobody said.
func (d *Reader) severalMembers(names []string) error {
	what := "dumps"
	if !isDump(names[0]) {
		what = "files, and none has the name of a dump"
	}
	return &dump.Error{File: d.name, Msg: fmt.Sprintf("there are %d %s in this zip archive: %s", len(names), what, some(names)),
		Hint: "unzip " + d.name + " -d dumps, and name the directory (--from dumps), or its files in their order"}
}

// some are at most four of a list of names.
func some(names []string) string {
	if len(names) > 4 {
		names = append(slices.Clone(names[:3]), fmt.Sprintf("%d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}
