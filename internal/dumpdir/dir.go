// Package dumpdir reads the directories that dumping programs write: mydumper, MySQL Shell, mysqldump
// --tab and mariadb-dump --dir. Each becomes an ordered list of parts: tables without rows first, then
// rows, then what is made of tables that have theirs (triggers, routines, views).
//
// No name in a dump leads out of the directory: files are opened below it (os.Root), and only those
// whose names the layout knows. What is missing is an error, never a shorter load.
package dumpdir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/dumpfile"
)

// Dump is a directory that was understood.
type Dump struct {
	// Maker is the program whose layout it is.
	Maker string
	// Server is the version of the server that was dumped, as it writes it, and Finished when the dump had ended; "" and zero
	// where the dump does not say so.
	Server   string
	Finished time.Time
	Parts    []dump.Part
	// Counts are the rows of tables, as far as the dump says them.
	Counts []dump.Count
	// Databases are those that it holds; none if it does not name one.
	Databases []string
	// Notes are what people should know of what is not loaded, or is assumed.
	Notes []string
	// Bytes is the size of its files, and Packed that of those that are compressed.
	Bytes, Packed int64

	dir *dir
}

// Close lets go of the directory.
func (d *Dump) Close() error { return d.dir.root.Close() }

// dir is a directory that is being read.
type dir struct {
	path  string
	root  *os.Root
	names []string         // of the files below it, sorted
	lost  []string         // links out of it, or to nothing
	sizes map[string]int64 // by name
	watch io.Writer
}

// layouts are those that are known. A function returns nil for a directory of another kind.
var layouts = []func(*dir) (*Dump, error){shell, mydumper, tab}

// Is reports whether a directory has one of the layouts.
func Is(path string) (bool, error) {
	d, err := Open(path, io.Discard)
	if d != nil {
		err = errors.Join(err, d.Close())
	}
	return d != nil, err
}

// Open reads the layout of a directory; nil for a directory of another kind, as one of dumps that
// each stand for themselves. What is read of its files later goes to watch as well, as it is there.
func Open(path string, watch io.Writer) (*Dump, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("read directory of a dump: %w", err)
	}
	d := &dir{path: path, root: root, sizes: map[string]int64{}, watch: watch}
	found, err := d.read()
	if found == nil || err != nil {
		return nil, errors.Join(err, root.Close())
	}
	found.dir = d
	for name, size := range d.sizes {
		found.Bytes += size
		if name != bare(name) {
			found.Packed += size
		}
	}
	return found, nil
}

func (d *dir) read() (*Dump, error) {
	if err := d.list("."); err != nil {
		return nil, fmt.Errorf("read directory of a dump: %w", err)
	}
	slices.Sort(d.names)
	for _, layout := range layouts {
		found, err := layout(d)
		if found == nil && err == nil {
			continue
		}
		for _, name := range d.lost {
			if err == nil && slices.Contains(ofDumps, path.Ext(bare(name))) {
				return nil, d.fault(name, again, "it is a link out of the directory, or to nothing, and is not followed")
			}
		}
		return found, err
	}
	return nil, nil
}

// ofDumps are the endings of files that a layout knows.
var ofDumps = []string{".sql", ".txt", ".dat", ".tsv", ".json"}

// maxFiles bounds the files of a directory.
const maxFiles = 5_000_000

// list notes the files in a directory, and one level of directories below it.
func (d *dir) list(below string) error {
	entries, err := fs.ReadDir(d.root.FS(), below)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(below, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			if below == "." {
				if err := d.list(name); err != nil {
					return err
				}
			}
		default:
			info, err := d.root.Stat(name)
			if err != nil {
				d.lost = append(d.lost, name)
				continue
			}
			if !info.Mode().IsRegular() {
				continue
			}
			d.names, d.sizes[name] = append(d.names, name), info.Size()
		}
	}
	if len(d.names) > maxFiles {
		return fmt.Errorf("%s has more than %d files", d.path, maxFiles)
	}
	return nil
}

// Files returns the names of all files of a directory that has a layout, sorted: the dump is other
// where one of them is.
func (d *Dump) Files() []string { return d.dir.names }

func (d *dir) has(name string) bool { _, ok := d.sizes[name]; return ok }

// find returns the file of a name, which may be compressed: with .zst or the like behind it. "" for none.
func (d *dir) find(name string) string {
	for _, e := range compressed {
		if d.has(name + e) {
			return name + e
		}
	}
	return ""
}

var compressed = []string{"", ".gz", ".zst", ".xz", ".bz2"}

// bare returns a name without the ending of a compression.
func bare(name string) string {
	for _, e := range compressed[1:] {
		if s, ok := strings.CutSuffix(name, e); ok {
			return s
		}
	}
	return name
}

// show is what a file is called in errors.
func (d *dir) show(name string) string { return filepath.Join(filepath.Base(d.path), name) }

// fault is an error about a file, "" for the directory.
func (d *dir) fault(name, hint, format string, args ...any) error {
	return &dump.Error{File: d.show(name), Msg: fmt.Sprintf(format, args...), Hint: hint}
}

const again = "copy or make the dump again"

// open opens a file, decompressed.
func (d *dir) open(name string, watch io.Writer) (io.ReadCloser, error) {
	if !filepath.IsLocal(name) {
		return nil, d.fault("", "do not load this dump: its names were made to read other files", "a name in it leads out of the directory: %s", name)
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, d.fault(name, again, "the file is not there")
	}
	if err != nil {
		return nil, fmt.Errorf("open dump %s: %w", d.show(name), err)
	}
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		f.Close()
		return nil, d.fault(name, again, "it is no file")
	}
	r, err := dumpfile.NewPart(io.TeeReader(f, watch), d.show(name))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return opened{r, f}, nil
}

type opened struct {
	io.ReadCloser
	file *os.File
}

func (o opened) Close() error { return errors.Join(o.ReadCloser.Close(), o.file.Close()) }

// maxText bounds what is read as a whole: metadata, a view, statements around rows.
const maxText = 64 << 20

// localTime reads a time as these programs write it: that of the machine on which they ran. Zero for another text.
func localTime(text string) time.Time {
	at, err := time.ParseInLocation(time.DateTime, text, time.Local)
	if err != nil {
		return time.Time{}
	}
	return at
}

// text returns the text of a small file.
func (d *dir) text(name string) ([]byte, error) {
	in, err := d.open(name, io.Discard)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxText+1))
	if err == nil && len(text) > maxText {
		err = d.fault(name, again, "the file has more than %d MB, and should be a small one", maxText>>20)
	}
	return text, err
}

// statements returns a part of the statements in a file.
func (d *dir) statements(name, database string, settings []string) dump.Part {
	return dump.Part{
		File: d.show(name), Database: database, Settings: settings,
		Open: func() (io.ReadCloser, error) { return d.open(name, d.watch) },
	}
}

// made returns a part of statements that stand in no file, in place of one.
func (d *dir) made(name, database, text string) dump.Part {
	return dump.Part{
		File: d.show(name), Database: database,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
	}
}

// rows returns a part of the rows in a file.
func (d *dir) rows(name, database string, settings []string, rows dump.RowFile) dump.Part {
	p := d.statements(name, database, settings)
	p.Rows = &rows
	return p
}

// numbers says which are missing of numbers that count from the least; nil for none.
func gap(numbers []int) (int, bool) {
	slices.Sort(numbers)
	for i, n := range numbers {
		if i > 0 && n > numbers[i-1]+1 {
			return numbers[i-1] + 1, true
		}
	}
	return 0, false
}

// quote returns a string of SQL, for a session whose backslashes escape.
func quote(s string) string {
	var b bytes.Buffer
	b.WriteByte('\'')
	for i := range len(s) {
		switch c := s[i]; c {
		case '\'', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case 0:
			b.WriteString(`\0`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
