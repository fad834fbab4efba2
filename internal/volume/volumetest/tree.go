package volumetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Tree is everything that a faithful copy of a directory keeps, by relative path.
type Tree map[string]Entry

// Entry is one file, directory or link.
type Entry struct {
	Mode     string // type and permission bits, octal as in stat(2)
	Owner    string // uid:gid
	Size     int64  // bytes; 0 for directories, whose size is the file system's affair
	Mtime    string // seconds.nanoseconds
	Sum      string // SHA-256 of the content
	Data     string // ranges that hold data; what is between them is holes
	Target   string // of a symbolic link
	SameAs   string // the first name, in order, of a file with several names
	Attrs    string // user.* attributes
	Readable bool
}

// ReadTree reads the tree at root.
func ReadTree(t *testing.T, root string) Tree {
	t.Helper()
	tree := Tree{}
	names := map[[2]uint64][]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		if tree[rel], err = readEntry(p, &st); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		if !d.IsDir() && st.Nlink > 1 {
			id := [2]uint64{st.Dev, st.Ino}
			names[id] = append(names[id], rel)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read tree: %v", err)
	}
	for _, same := range names {
		sort.Strings(same)
		for _, n := range same {
			e := tree[n]
			e.SameAs = same[0]
			tree[n] = e
		}
	}
	return tree
}

func readEntry(path string, st *unix.Stat_t) (Entry, error) {
	e := Entry{
		Mode:  fmt.Sprintf("%o", st.Mode),
		Owner: fmt.Sprintf("%d:%d", st.Uid, st.Gid),
		Mtime: fmt.Sprintf("%d.%09d", st.Mtim.Sec, st.Mtim.Nsec),
	}
	var err error
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		e.Target, err = os.Readlink(path)
		return e, err
	case unix.S_IFREG:
		e.Size = st.Size
		b, rerr := os.ReadFile(path)
		e.Readable = rerr == nil
		if rerr == nil {
			sum := sha256.Sum256(b)
			e.Sum = hex.EncodeToString(sum[:8])
			if e.Data, err = dataRanges(path, st.Size); err != nil {
				return e, err
			}
		}
	}
	e.Attrs, err = userAttrs(path)
	return e, err
}

func dataRanges(path string, size int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var ranges []string
	for off := int64(0); off < size; {
		start, end, err := sys.NextData(int(f.Fd()), off, size)
		if err != nil {
			return "", err
		}
		if start < end {
			ranges = append(ranges, fmt.Sprintf("%d-%d", start, end))
		}
		off = end
	}
	return strings.Join(ranges, " "), nil
}

func userAttrs(path string) (string, error) {
	buf := make([]byte, 4096)
	n, err := unix.Llistxattr(path, buf)
	if err != nil {
		return "", nil // none here
	}
	var attrs []string
	for name := range strings.SplitSeq(strings.TrimRight(string(buf[:n]), "\x00"), "\x00") {
		if !strings.HasPrefix(name, "user.") {
			continue
		}
		value := make([]byte, 4096)
		k, err := unix.Lgetxattr(path, name, value)
		if err != nil {
			return "", err
		}
		attrs = append(attrs, name+"="+string(value[:k]))
	}
	sort.Strings(attrs)
	return strings.Join(attrs, " "), nil
}

// Diff describes how the trees differ, or is empty.
func Diff(want, got Tree) string { return cmp.Diff(want, got) }
