package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/server"
)

// archive reads one saved image, in this order: meta, then unpack. Its errors are
// *DamagedError for whatever the file is to blame for, also when it cannot be read.
type archive struct {
	saved *Saved
	ctx   context.Context // of the one call that the archive is open for
	file  io.ReadCloser
	zstd  *zstd.Decoder
	tar   *tar.Reader
	sums  sums
	// room is how many bytes may still be unpacked.
	room int64
	// topped says that the data directory itself has come.
	topped bool
}

// open opens the file. Call close.
func (v *Saved) open(ctx context.Context) (*archive, error) {
	f, err := openRegular(v.Path)
	if errors.Is(err, ErrUsage) {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return nil, (&archive{saved: v, ctx: ctx}).damaged(err)
	}
	return v.read(ctx, f)
}

// read reads what is in the file, or comes from elsewhere. Call close, which closes r.
func (v *Saved) read(ctx context.Context, r io.ReadCloser) (*archive, error) {
	a := &archive{saved: v, ctx: ctx, file: r}
	var err error
	if a.zstd, err = zstd.NewReader(dump.Until(ctx, r), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(packWindow)); err != nil {
		return nil, errors.Join(a.damaged(err), r.Close())
	}
	a.tar = tar.NewReader(a.zstd)
	return a, nil
}

func (a *archive) close() {
	a.zstd.Close()
	a.file.Close()
}

// damaged lays an error to the file's charge, unless ctx has ended.
func (a *archive) damaged(err error) error {
	if cause := context.Cause(a.ctx); cause != nil {
		return cause
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it is cut short")
	}
	return &DamagedError{ID: a.saved.ID, Path: a.saved.Path, Err: err}
}

// meta returns what the file says of the image.
func (a *archive) meta() (*Image, error) {
	text, h, err := a.small(metaName, maxMeta)
	if err != nil {
		return nil, a.damaged(err)
	}
	m := &Image{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, a.damaged(err)
	}
	if err := m.checkFormat(); err != nil {
		return nil, a.damaged(err)
	}
	if m.ID != a.saved.ID {
		return nil, a.damaged(fmt.Errorf("it holds image %q", m.ID))
	}
	if m.Size < 0 {
		return nil, a.damaged(fmt.Errorf("it tells of an image of %d bytes", m.Size))
	}
	if err := a.sums.add(metaName, h); err != nil {
		return nil, a.damaged(err)
	}
	a.room = m.Size + m.Size/roomShare + roomMore
	return m, nil
}

// small reads an entry of ours whole.
func (a *archive) small(name string, limit int64) ([]byte, hash.Hash, error) {
	hdr, err := a.tar.Next()
	if err != nil {
		return nil, nil, err
	}
	if hdr.Name != name || hdr.Typeflag != tar.TypeReg || hdr.Size > limit {
		return nil, nil, fmt.Errorf("it has %q where %s belongs", hdr.Name, name)
	}
	return a.text()
}

// text reads what is left of an entry.
func (a *archive) text() ([]byte, hash.Hash, error) {
	h := sha256.New()
	text, err := io.ReadAll(io.TeeReader(a.tar, h))
	return text, h, err
}

// unpack writes the files of the data directory below dir, which must be there and
// empty, closed to everybody else, and checks them and the rest of the file. The
// modes of directories are set when all is in them; that of the top is returned.
// An error that is not of the file is one of dir.
func (a *archive) unpack(dir string, progress io.Writer) (top fs.FileMode, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close() //nolint:errcheck // files are closed one by one
	u := &unpacker{archive: a, root: root, modes: map[string]fs.FileMode{}, files: map[string]bool{}, buf: make([]byte, packBuffer), progress: progress}
	for {
		hdr, err := a.tar.Next()
		if err != nil {
			return 0, a.damaged(err)
		}
		if hdr.Name == sumsName {
			if err := a.finish(hdr); err != nil {
				return 0, err
			}
			return u.modes["."], u.chmod()
		}
		if err := u.entry(hdr); err != nil {
			return 0, err
		}
	}
}

// finish checks the sums, and that nothing follows them. Only at its end does the
// frame prove what the sums do not cover.
func (a *archive) finish(hdr *tar.Header) error {
	if !a.topped {
		return a.damaged(errors.New("it holds no data directory"))
	}
	// Twice what is right is enough to say what differs.
	if hdr.Typeflag != tar.TypeReg || hdr.Size > int64(2*a.sums.text.Len()) {
		return a.damaged(errors.New("its checksums are not those of its files"))
	}
	told, _, err := a.text()
	if err != nil {
		return a.damaged(err)
	}
	if why := a.sums.differ(string(told)); why != "" {
		return a.damaged(errors.New(why))
	}
	if hdr, err := a.tar.Next(); err == nil {
		return a.damaged(fmt.Errorf("%q follows the checksums", hdr.Name))
	} else if !errors.Is(err, io.EOF) {
		return a.damaged(err)
	}
	if n, err := io.Copy(io.Discard, a.zstd); err != nil {
		return a.damaged(err)
	} else if n > 0 {
		return a.damaged(errors.New("something follows its end"))
	}
	return nil
}

// unpacker writes files.
type unpacker struct {
	*archive
	root *os.Root
	// modes are those of the directories made so far, by path; dirs are the paths in
	// order; files are those of the files.
	modes    map[string]fs.FileMode
	dirs     []string
	files    map[string]bool
	buf      []byte
	progress io.Writer
}

// entry writes one file or directory. Its directory comes before it, and no name
// comes twice: what else stands there then is not of the file's making.
func (u *unpacker) entry(hdr *tar.Header) error {
	name := strings.TrimSuffix(hdr.Name, "/")
	if err := checkName(name); err != nil {
		return u.damaged(err)
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(name, dataName), "/")
	if rel == "" {
		rel = "."
	}
	_, isDir := u.modes[rel]
	_, inDir := u.modes[path.Dir(rel)]
	mode := hdr.FileInfo().Mode()
	switch {
	case isDir || u.files[rel]:
		return u.damaged(fmt.Errorf("%q comes twice", name))
	case len(u.modes)+len(u.files) > maxFiles:
		return u.damaged(fmt.Errorf("there are more than %d files", maxFiles))
	case rel == "." && hdr.Typeflag == tar.TypeDir:
		u.modes[rel], u.topped = mode.Perm(), true
		return nil
	case !inDir:
		return u.damaged(fmt.Errorf("%q comes before its directory", name))
	case hdr.Typeflag == tar.TypeDir:
		u.modes[rel] = mode.Perm()
		u.dirs = append(u.dirs, rel)
		return u.root.Mkdir(rel, 0o700)
	case hdr.Typeflag != tar.TypeReg:
		return u.damaged(errKind(name))
	case server.LeadsOut(rel, mode):
		return u.damaged(fmt.Errorf("%q leads to a file elsewhere, which a server would write to", name))
	}
	u.files[rel] = true
	return u.file(rel, hdr)
}

// file writes one file, without the blocks of zeros.
func (u *unpacker) file(rel string, hdr *tar.Header) (err error) {
	f, err := u.root.OpenFile(rel, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	off := int64(0)
	for off < hdr.Size {
		n, err := io.ReadFull(u.tar, u.buf[:min(hdr.Size-off, int64(len(u.buf)))])
		if err != nil {
			return u.damaged(err)
		}
		h.Write(u.buf[:n])
		if err := u.sparse(f, u.buf[:n], off); err != nil {
			return err
		}
		off += int64(n)
	}
	if err := u.sums.add(dataName+"/"+rel, h); err != nil {
		return u.damaged(err)
	}
	if err := errors.Join(f.Truncate(off), f.Chmod(hdr.FileInfo().Mode().Perm())); err != nil {
		return err
	}
	// A server tells from it when a table of MyISAM or Aria was last changed.
	return u.root.Chtimes(rel, hdr.ModTime, hdr.ModTime)
}

// sparse writes the blocks of p that are not zeros to a new file.
func (u *unpacker) sparse(f *os.File, p []byte, off int64) error {
	for from := 0; from < len(p); {
		to := from
		for to < len(p) && !isZero(p[to:min(to+zeroGrain, len(p))]) {
			to = min(to+zeroGrain, len(p))
		}
		if to > from {
			if u.room -= int64(to - from); u.room < 0 {
				return u.damaged(errUntold)
			}
			if _, err := f.WriteAt(p[from:to], off+int64(from)); err != nil {
				return err
			}
			_, _ = u.progress.Write(p[from:to]) // see packer.file
		}
		from = to + zeroGrain // of zeros, or past the end
	}
	return nil
}

func isZero(p []byte) bool { return bytes.Equal(p, zeros[:len(p)]) }

// chmod gives the directories their modes, the deepest first: one may be closed to
// its owner.
func (u *unpacker) chmod() error {
	for i := len(u.dirs) - 1; i >= 0; i-- {
		if err := u.root.Chmod(u.dirs[i], u.modes[u.dirs[i]]); err != nil {
			return err
		}
	}
	return nil
}
