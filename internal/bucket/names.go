package bucket

import (
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// Names of objects, below the prefix.
const (
	// ownerName says whose archive it is. It is there before anything else.
	ownerName = "archive.json"
	// manifestName is the manifest, with what it takes to read the rest. The local one has this name
	// too.
	manifestName = "manifest.json"
	// logPrefix is where the parts of the log are.
	logPrefix = "log/"
)

// span is where the bytes of a part stand in the log: a part is a piece of a segment, as it is.
type span struct {
	epoch    uint32
	segment  uint64
	from, to int64
}

// name sorts as the log does.
func (s span) name() string {
	return fmt.Sprintf("%s%012d-%08d-%08d.part", logDir(s.epoch), s.segment, s.from, s.to)
}

func (s span) end() archive.Place { return archive.Place{Segment: s.segment, Offset: s.to} }

// logDir is where the parts of an epoch are.
func logDir(epoch uint32) string { return fmt.Sprintf("%s%06d/", logPrefix, epoch) }

// segmentPrefix is what the names of the parts of a segment begin with. It sorts behind those of
// all before.
func segmentPrefix(epoch uint32, segment uint64) string {
	return fmt.Sprintf("%s%012d-", logDir(epoch), segment)
}

// parseSpan reads the name of a part.
func parseSpan(name string) (s span, ok bool) {
	n, err := fmt.Sscanf(name, logPrefix+"%d/%d-%d-%d.part", &s.epoch, &s.segment, &s.from, &s.to)
	return s, err == nil && n == 4 && s.name() == name && s.from >= archive.BlockSize && s.from < s.to
}

// chunkSize is how many bytes of a file an object holds: one that fails, or was being sent when the
// process was killed, is sent again from its beginning.
const chunkSize = 16 << 20

// chunkName is that of a piece of a file. The bytes are as they are in the file, so that `cat` puts
// it together; the name has their checksum.
func chunkName(file string, n int, sum string) string {
	return fmt.Sprintf("%s/%06d-%s", file, n, sum)
}

// checkFile refuses a name of a file that leads out of the archive, or to where its log and manifest
// are.
func checkFile(name string) error {
	dir, base, ok := strings.Cut(name, "/")
	if !ok || strings.ContainsAny(base, "/\x00") || dir == "" || dir == "." || dir == ".." || base == "" || base == "." || base == ".." || dir == strings.TrimSuffix(logPrefix, "/") {
		return fmt.Errorf("the manifest names the file %q", name)
	}
	return nil
}
