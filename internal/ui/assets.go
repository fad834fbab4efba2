package ui

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// MostWeight is how many bytes the page may have, uncompressed, with everything that it loads.
const MostWeight = 110_000

// assets are the page. uplot is https://github.com/leeoniya/uPlot, of which docs/dependencies.md says
// where it is from: the program has no network to load it by.
//
//go:embed assets
var assets embed.FS

// assetNames are the files that a browser may load.
func assetNames() (names []string) {
	_ = fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(name) != "" {
			names = append(names, name[len("assets/"):])
		}
		return err // there is none: the files are in the program
	})
	return names
}

// mediaTypes are fixed, since the machine's own table may say anything.
var mediaTypes = map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// shrunk is a file as a browser gets it: without indentation, and without lines that are a comment; CSS without
// spaces that mean nothing. Lines keep their numbers.
func shrunk(name string) ([]byte, error) {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil || strings.HasPrefix(name, "uplot/") {
		return text, err
	}
	if path.Ext(name) == ".css" { // none of its strings has any of these
		text = []byte(strings.NewReplacer("; ", ";", ": ", ":", " { ", "{", " }", "}", ", ", ",").Replace(string(text)))
	}
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		line = bytes.TrimLeft(line, " ")
		if bytes.HasPrefix(line, []byte("//")) {
			line = line[len(line)-1:]
		}
		out.Write(line)
	}
	return out.Bytes(), nil
}

func serveAsset(name string) http.HandlerFunc {
	text, err := shrunk(name)
	media := mediaTypes[path.Ext(name)]
	return func(w http.ResponseWriter, _ *http.Request) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", media)
		_, _ = w.Write(text) // to a browser that may have gone
	}
}
