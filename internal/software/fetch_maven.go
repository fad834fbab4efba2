package software

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

// fetchMaven fetches a jar, checks it against the pinned hash and unpacks it.
func (f *Finder) fetchMaven(ctx context.Context, w want, work string, p *progress) (*server.Server, error) {
	jars := f.jars
	if jars == nil {
		jars = mavenJars
	}
	j, err := pickJar(jars, w)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnsuited, err)
	}
	if err := checkRoom(work, j.size+j.needs); err != nil {
		return nil, err
	}
	address, err := f.jarURL(j)
	if err != nil {
		return nil, err
	}
	p.phase("downloading "+megabytes(j.size), 0, 0.9)
	archive := filepath.Join(work, "server.jar")
	d := download{url: address, path: archive, size: j.size, sha256: j.sha256, stall: f.stall}
	if err := d.run(ctx, func(n int64) { p.at(float64(n) / float64(j.size)) }); err != nil {
		return nil, roomOr(err, work, j.size+j.needs)
	}
	p.phase("unpacking", 0.9, 1)
	root := filepath.Join(work, "root")
	if err := unpackJar(ctx, archive, j.prefix, root); err != nil {
		return nil, fmt.Errorf("unpack jar: %w", roomOr(err, work, j.size+j.needs))
	}
	if err := os.Remove(archive); err != nil {
		return nil, err
	}
	fam := server.FamilyOf(j.flavour)
	bin := filepath.Join(root, "bin")
	s := &server.Server{Flavour: j.flavour, Version: j.version, Dir: root, Daemon: findProgram([]string{bin}, fam.Daemons)}
	if s.Daemon.Argv == nil {
		return nil, fmt.Errorf("the jar holds no program %sbin/%s", j.prefix, fam.Daemons[0])
	}
	findPrograms(s, []string{bin})
	// An empty directory of its own, since the one that is built in may hold the
	// plugins of another server.
	if err := makeOpenDir(filepath.Join(root, "lib/plugin")); err != nil {
		return nil, err
	}
	if err := findParts(s, root); err != nil {
		return nil, err
	}
	return s, nil
}

func (f *Finder) jarURL(j jar) (string, error) {
	base := f.getenv(EnvMaven)
	if base == "" {
		base = mavenCentral
	}
	u, err := url.Parse(strings.TrimSuffix(base, "/") + "/" + j.path)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s=%s is no http or https address", EnvMaven, base)
	}
	return u.String(), nil
}
