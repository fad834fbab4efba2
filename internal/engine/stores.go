package engine

import (
	"os"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Finder returns a finder of server software.
func (e *Engine) Finder() *software.Finder {
	w, _ := e.progress()
	return &software.Finder{Host: e.Host, Places: e.Places, Memo: e.Memo, Progress: w}
}

// instances are the instances in a volume.
func (e *Engine) instances(v volume.Volume) *instance.Store {
	return &instance.Store{Registry: e.Registry, Volume: v, Account: e.Account, UID: e.UID}
}

// Images returns the store of the images in a volume.
func (e *Engine) Images(v volume.Volume) (*image.Store, error) {
	limit := int64(0)
	if text := os.Getenv("RAMARIA_IMAGE_LIMIT"); text != "" {
		var err error
		if limit, err = volume.ParseSize(text); err != nil {
			return nil, RequestError{err}
		}
	}
	w, terminal := e.progress()
	return &image.Store{
		Volume: v, Places: e.Places, Memo: e.Memo, Account: e.Account, UID: e.UID, RegistryID: e.Owner.Registry, Limit: limit,
		InUse: e.ImageInUse, Fetch: e.fetchImage, Talk: w, Terminal: terminal,
	}, nil
}

// ImageInUse reports whether an instance is a clone of the image.
func (e *Engine) ImageInUse(id string) bool {
	records, err := e.Registry.List()
	if err != nil {
		return true // better kept than lost
	}
	for _, r := range records {
		i, err := e.Registry.Open(r.Name)
		if err == nil && i.Image == id {
			return true
		}
	}
	return false
}

// Firsts returns, for each flavour, the index in found of the first usable server: the one that
// --server FLAVOUR takes.
func Firsts(found []software.Found) map[server.Flavour]int {
	first := map[server.Flavour]int{}
	for i, f := range found {
		if _, ok := first[f.Flavour]; !ok && f.PassedOver == "" {
			first[f.Flavour] = i
		}
	}
	return first
}
