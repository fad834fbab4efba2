// Oci writes a container image as an OCI layout, a directory that podman, skopeo and the like read:
// of tar files, a layer each, with the settings of Ramaria's image. The same files give the same
// image.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// repository is where the image is published.
const repository = "ghcr.io/ramaria-db/ramaria"

// home is where an instance in a container keeps what it does not keep in RAM.
const home = "/var/lib/ramaria"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "oci:", err)
		os.Exit(1)
	}
}

func run() error {
	version := flag.String("version", "", "the `VERSION` of Ramaria")
	revision := flag.String("revision", "", "the `COMMIT`")
	arch := flag.String("arch", "amd64", "the `MACHINE` as Go names it")
	flag.Parse()
	if flag.NArg() < 2 {
		return errors.New("it takes a directory to write, and tar files, the lowest first")
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("read SOURCE_DATE_EPOCH: %w", err)
	}
	made := v1.Time{Time: time.Unix(seconds, 0).UTC()}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, path := range flag.Args()[1:] {
		layer, err := tarball.LayerFromFile(path, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return fmt.Errorf("read layer %s: %w", path, err)
		}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: made, CreatedBy: "ramaria"}}); err != nil {
			return fmt.Errorf("add layer %s: %w", path, err)
		}
	}
	if img, err = mutate.ConfigFile(img, configured(img, made, *arch, *version, *revision)); err != nil {
		return fmt.Errorf("set up the image: %w", err)
	}
	dir, err := layout.Write(flag.Arg(0), empty.Index)
	if err != nil {
		return fmt.Errorf("write layout: %w", err)
	}
	platform := layout.WithPlatform(v1.Platform{OS: "linux", Architecture: *arch})
	name := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": repository + ":" + *version})
	if err := dir.AppendImage(img, platform, name); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	return nil
}

// configured is what the image says of itself, and how containers of it start.
func configured(img v1.Image, made v1.Time, arch, version, revision string) *v1.ConfigFile {
	c, err := img.ConfigFile()
	if err != nil { // it was made above
		panic(err)
	}
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Created = "linux", arch, made
	c.Config = v1.Config{
		User:         "1000",
		Entrypoint:   []string{"tini", "--", "ramaria-container"},
		Env:          []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "RAMARIA_HOME=" + home},
		WorkingDir:   home,
		ExposedPorts: map[string]struct{}{"3306/tcp": {}, "3307/tcp": {}},
		StopSignal:   "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "Ramaria",
			"org.opencontainers.image.description": "MariaDB in RAM, with a database for each test",
			"org.opencontainers.image.version":     version,
			"org.opencontainers.image.revision":    revision,
			"org.opencontainers.image.created":     made.Format(time.RFC3339),
			"org.opencontainers.image.source":      "https://github.com/ramaria-db/ramaria",
			"org.opencontainers.image.licenses":    "Apache-2.0",
		},
	}
	return c
}
