package image

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"path/filepath"
	"strings"
)

// A saved image is a tar in one zstd frame: image.json, the data directory below
// data/, and SHA256SUMS over all files before it, as sha256sum(1) writes it. What
// the sums do not cover, names and modes of directories, the frame's own checksum
// does. docs/formats.md is its page.
const (
	savedSuffix = ".tar.zst"
	metaName    = "image.json"
	dataName    = "data"
	sumsName    = "SHA256SUMS"
)

const (
	// maxMeta bounds image.json in a saved image, in bytes.
	maxMeta = 1 << 20
	// maxFiles bounds the files of a saved image: a line of each is held in memory.
	maxFiles = 1 << 20
	// roomShare and roomMore are by how much, a part of it and bytes, an image may be larger than it says: blocks of
	// other file systems are of another size.
	roomShare, roomMore = 8, 1 << 20
	// maxName is the longest name of a file in Linux, in bytes.
	maxName = 255
	// packWindow bounds the memory of both sides, in bytes.
	packWindow = 4 << 20
	// packBuffer is how much of a file is held at a time, in bytes.
	packBuffer = 1 << 20
	// zeroGrain is the grain in which runs of zeros are left out of restored files: the
	// page of tmpfs and the block of ext4 and XFS as they come.
	zeroGrain = 4096
)

// sums are the lines of SHA256SUMS so far.
type sums struct {
	text  strings.Builder
	files int
}

func (s *sums) add(name string, h hash.Hash) error {
	if s.files++; s.files > maxFiles {
		return fmt.Errorf("there are more than %d files", maxFiles)
	}
	// sha256sum marks a line whose name it had to escape.
	escaped := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(name)
	if escaped != name {
		s.text.WriteByte('\\')
	}
	s.text.WriteString(hex.EncodeToString(h.Sum(nil)) + "  " + escaped + "\n")
	return nil
}

// differ says which line is not the one that was computed, "" if all are the same.
func (s *sums) differ(told string) string {
	want := s.text.String()
	if told == want {
		return ""
	}
	lines := strings.Split(told, "\n")
	for i, line := range strings.Split(want, "\n") {
		_, name, _ := strings.Cut(line, "  ")
		if i >= len(lines) || lines[i] != line && name != "" {
			return fmt.Sprintf("%s is not what its checksum says", name)
		}
	}
	return "there are checksums of files that are missing"
}

// checkName refuses names that do not lie below data/, or could not be made there.
func checkName(name string) error {
	rel, ok := strings.CutPrefix(name, dataName+"/")
	switch {
	case name == dataName:
		return nil
	case !ok, !filepath.IsLocal(rel), filepath.Clean(rel) != rel, strings.ContainsRune(rel, 0):
		return fmt.Errorf("the name %q is not one of a file below %s", name, dataName)
	}
	for part := range strings.SplitSeq(rel, "/") {
		if len(part) > maxName {
			return fmt.Errorf("the name %q is too long", name)
		}
	}
	return nil
}

// errKind refuses what is neither a file nor a directory.
func errKind(name string) error {
	return fmt.Errorf("%q is neither a file nor a directory", name)
}

// DamagedError says that a saved image cannot be used.
type DamagedError struct {
	ID, Path string
	Err      error
}

// errUntold says that there is more in a saved image than it tells of. One that an earlier version saved from a file system
// that compresses tells of the blocks that it took there.
var errUntold = errors.New("it holds more data than it tells of: somebody has changed it, or an earlier version has saved it from a file system that compresses")

// Error names the file and how to get rid of it.
func (e *DamagedError) Error() string {
	if errors.Is(e.Err, errUntold) {
		return fmt.Sprintf("use saved image %s: %s: %v\nhint: ramaria image rm %[1]s; ramaria image save saves it anew once it is built again", e.ID, e.Path, e.Err)
	}
	return fmt.Sprintf("use saved image %s: %s is damaged: %v\nhint: ramaria image rm %s", e.ID, e.Path, e.Err, e.ID)
}

// Unwrap returns what was found.
func (e *DamagedError) Unwrap() error { return e.Err }

func isDamaged(err error) (*DamagedError, bool) {
	var d *DamagedError
	ok := errors.As(err, &d)
	return d, ok
}
