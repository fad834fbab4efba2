package engine

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/ramaria-db/ramaria/internal/dumpfile/web"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/progress"
)

// spoolSources has sources that can be read only once, standard input and URLs, be files: they are read twice. release removes
// the files.
func (e *Engine) spoolSources(ctx context.Context, images *image.Store, from []image.Source, stdin io.Reader) (spooled []image.Source, release func(), err error) {
	spooled = slices.Clone(from)
	var spools []*image.Spool
	release = func() {
		for _, s := range spools {
			_ = s.Close() // the next command sweeps what is left
		}
	}
	read := false
	for i, s := range spooled {
		var spool *image.Spool
		switch {
		case s.Kind == image.FromStdin && !read:
			read = true
			spool, err = images.Spool(ctx, image.Spooled{From: stdin})
		case s.Kind == image.FromURL:
			spool, err = e.spoolURL(ctx, images, s.Name)
		default:
			continue
		}
		if err != nil {
			release()
			return nil, nil, err
		}
		spools = append(spools, spool)
		spooled[i] = image.Source{Kind: image.FromPath, Name: spool.Path}
	}
	return spooled, release, nil
}

// spoolURL fetches a dump.
func (e *Engine) spoolURL(ctx context.Context, images *image.Store, url string) (_ *image.Spool, err error) {
	d, err := web.Open(ctx, url)
	if err != nil {
		return nil, asRequest(err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	w, terminal := e.progress()
	bar := progress.Bar(w, terminal, "fetching "+d.Name, d.Size)
	defer bar.Close()
	return images.Spool(ctx, image.Spooled{Name: cmp.Or(web.FileName(url), image.DefaultDatabase+".sql"), Size: d.Size, From: io.TeeReader(d, bar)})
}
