// Package image builds, identifies and keeps images: immutable, cleanly shut
// data directories that instances are cloned from.
//
// An image is named by a hash of all that it was built from: the content of its
// sources, the server's version and the settings that shape the files. Two
// recipes with one id would give the same data, so an image is built once however
// many ask for it, and never changes afterwards. The store is a directory in a
// volume; every image in it is whole, since it appears by a rename.
package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// Format is the version of image.json and of the layout beside it.
const Format = 1

// Image is what image.json says of one image.
type Image struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	// Origin tells people what it was built from.
	Origin  string         `json:"origin"`
	Flavour server.Flavour `json:"flavour"`
	Version server.Version `json:"version"`
	// Shape is the settings that the files were made with, name=value.
	Shape []string `json:"shape"`
	// PageSize is InnoDB's page size in bytes, 0 for the default.
	PageSize int `json:"page_size,omitempty"`
	// Database is the one that instances hand to applications.
	Database string `json:"database"`
	// Size is the room that its files take, in bytes.
	Size    int64     `json:"size"`
	Created time.Time `json:"created"`
	// BuildSeconds is how long building took.
	BuildSeconds float64 `json:"build_seconds"`

	dir string
}

// DataDir is the directory that instances clone.
func (m *Image) DataDir() string { return filepath.Join(m.dir, "data") }

// usedPath is a file whose modification time is the last use, and whose lock is
// held, shared, by the process that clones the image.
func (m *Image) usedPath() string { return filepath.Join(m.dir, "used") }

// LastUse is when the image was last asked for.
func (m *Image) LastUse() time.Time {
	fi, err := os.Stat(m.usedPath())
	if err != nil {
		return m.Created
	}
	return fi.ModTime()
}

// ErrNotFound says that there is no such image.
var ErrNotFound = errors.New("no such image")

func read(dir string) (*Image, error) {
	b, err := os.ReadFile(filepath.Join(dir, "image.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read image: %w", err)
	}
	m := &Image{dir: dir}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("read %s/image.json: %w", dir, err)
	}
	if err := m.checkFormat(); err != nil {
		return nil, fmt.Errorf("read %s: %w\nhint: ramaria image rm %s", dir, err, filepath.Base(dir))
	}
	return m, nil
}

func (m *Image) checkFormat() error {
	if m.Format != Format {
		return fmt.Errorf("format %d, this ramaria knows %d", m.Format, Format)
	}
	return nil
}

func (m *Image) write() error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	if err := os.WriteFile(m.usedPath(), nil, 0o600); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	if err := os.WriteFile(filepath.Join(m.dir, "image.json"), append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	return nil
}
