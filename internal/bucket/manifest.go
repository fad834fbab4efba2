package bucket

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/archive"
)

const jsonFormat = 1

// owner says whose archive a prefix holds.
type owner struct {
	Format  int    `json:"format"`
	Archive string `json:"archive"`
}

// manifest is the local manifest, and what it takes to read the rest of the bucket.
type manifest struct {
	Format  int    `json:"format"`
	Archive string `json:"archive"`
	// Manifest is the file as it is on the local disk.
	Manifest []byte `json:"manifest"`
	// Extra is the file that goes with it, as it was; nil if there was none.
	Extra []byte `json:"extra,omitempty"`
	// Files are all that it names.
	Files []file `json:"files"`
	// Logs say from which segment on the log of an epoch is needed. The parts before it are to be
	// removed.
	Logs []logStart `json:"logs"`
	// Extent is how far the log in the bucket went when the manifest was written; nil if that was not known.
	Extent *extent `json:"extent,omitempty"`
}

// file is one of the local archive, in chunks.
type file struct {
	Name  string   `json:"name"`
	Size  int64    `json:"size"`
	Chunk int64    `json:"chunk"` // bytes of each object but the last
	Sums  []string `json:"sums"`  // CRC-32C of each, in hexadecimal
}

type logStart struct {
	Epoch   uint32 `json:"epoch"`
	Segment uint64 `json:"segment"`
}

// sealed is a JSON object with the CRC-32C of its name and body.
type sealed struct {
	Sum  string          `json:"sum"`
	Body json.RawMessage `json:"body"`
}

func seal(name string, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sealed{sealSum(name, body), body})
}

// unseal reads an object into v, which has a format.
func unseal(name string, b []byte, v any) error {
	var s sealed
	if err := json.Unmarshal(b, &s); err != nil {
		return &DamagedError{name, err.Error()}
	}
	if s.Sum != sealSum(name, s.Body) {
		return &DamagedError{name, "its checksum is wrong"}
	}
	var format struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(s.Body, &format); err != nil {
		return &DamagedError{name, err.Error()}
	}
	if format.Format != jsonFormat {
		return fmt.Errorf("read object %s: it has the format %d, and this program reads %d\nhint: take the version of ramaria that wrote it, or a later one", name, format.Format, jsonFormat)
	}
	if err := json.Unmarshal(s.Body, v); err != nil {
		return &DamagedError{name, err.Error()}
	}
	return nil
}

func sum(b []byte) uint32 { return archive.Sum(0, b) }
func sealSum(name string, body []byte) string {
	return fmt.Sprintf("%08x", archive.Sum(0, []byte(name), body))
}

func hexSum(b []byte) string   { return fmt.Sprintf("%08x", sum(b)) }
func hexID(id [16]byte) string { return hex.EncodeToString(id[:]) }

// parseID reads what hexID writes.
func parseID(name, s string) (id [16]byte, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return id, &DamagedError{name, "it has no id of an archive"}
	}
	return [16]byte(b), nil
}
