package volume

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// note is what a mounted volume says of itself, in a file at its top.
type note struct {
	Kind Kind `json:"kind"`
	// Limit is the size, in bytes, that it was made with or grown to.
	Limit int64 `json:"limit"`
	// Empty is what its file system counts as used, in bytes, with nothing in it: XFS
	// sets room aside for its own structures.
	Empty int64 `json:"empty"`
}

const noteFile = ".volume.json"

// samplesFile is what those who work in a volume have measured of its use.
const samplesFile = ".samples.json"

// SamplesPath is the file in which supervisors share what they measure of a volume's use. It goes with
// the volume.
func SamplesPath(v Volume) string { return filepath.Join(v.Dir(), samplesFile) }

// SaveSamples writes that file. Two that write it at once may spoil it, and then write it again.
func SaveSamples(v Volume, samples any) error { return writeJSON(SamplesPath(v), samples) }

// note reads the note, and so tells whether what is mounted is the volume, and works.
func (m *Mount) note() (n note, err error) {
	b, err := os.ReadFile(filepath.Join(m.dir, noteFile))
	switch {
	case isFailed(err):
		return n, m.failed(err)
	case err == nil:
		if json.Unmarshal(b, &n) == nil && n.Kind == m.kind {
			return n, nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return n, err
	}
	return n, fmt.Errorf("what is mounted at %s is not a volume of kind %s\nhint: umount %s, if it is not needed", m.dir, m.kind, m.dir)
}

// isFailed reports whether an error says that a file system has given up.
func isFailed(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EUCLEAN)
}

func (m *Mount) failed(err error) error {
	return fmt.Errorf("its file system has failed: %w\nhint: ramaria volume rm %s --force removes it, and what it holds is lost", err, m.kind)
}

// newSuffix ends the name of a file that is not whole yet.
const newSuffix = ".new"

// writeJSON writes a small file, whole or not at all.
func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+newSuffix, b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+newSuffix, path)
}
