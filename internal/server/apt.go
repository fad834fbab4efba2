package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// apt is one private state of apt: the machine's own sources, keys, mirrors and
// preferences, with lists, archives and a package status of its own. The status is
// empty, so that apt resolves everything down to the C library.
type apt struct {
	conf     string // path of the configuration
	archives string // where the packages come to lie
	get      string // path of apt-get
	cache    string // path of apt-cache
}

// update fetches the package lists and returns what was wrong with them. That is no
// failure yet: a source of somebody else's may be broken while ours works.
func (a *apt) update(ctx context.Context, limit time.Duration, at func(float64)) (complaint error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, talk, err := a.tool(at, a.get, "update").run(ctx)
	if text := complaints(talk); text != "" {
		return errors.New(text)
	}
	return err
}

// candidate returns the first pair of packages that has a version that is wanted.
func (a *apt) candidate(ctx context.Context, w want) (packages [2]string, err error) {
	args := []string{"policy"}
	for _, p := range aptPackages {
		args = append(args, p[0])
	}
	out, talk, err := a.tool(nil, a.cache, args...).run(ctx)
	if err != nil {
		return packages, fmt.Errorf("ask apt for its version: %w: %s", err, complaints(talk))
	}
	offered := parsePolicy(out)
	var others []string
	for _, p := range aptPackages {
		v, ok := offered[p[0]]
		if ok && w.matches(v) && v.Compare(Oldest) >= 0 {
			return p, nil
		}
		if ok {
			others = append(others, v.String())
		}
	}
	if len(others) > 0 {
		return packages, fmt.Errorf("%w: the distribution has %s, not %s", errUnsuited, strings.Join(others, " and "), w.text)
	}
	return packages, errNoCandidate
}

// errNoCandidate says that apt knows none of the packages.
var errNoCandidate = errors.New("apt knows no package " + aptPackages[0][0])

// plan asks apt what it would do to install the packages.
func (a *apt) plan(ctx context.Context, packages [2]string) (aptPlan, error) {
	out, talk, err := a.tool(nil, a.get, "install", "--print-uris", packages[0], packages[1]).run(ctx)
	if err != nil {
		return aptPlan{}, fmt.Errorf("plan packages: %w: %s", err, complaints(talk))
	}
	return parsePlan(out), nil
}

// download brings the packages and all that they need, and returns their paths.
func (a *apt) download(ctx context.Context, packages [2]string, local []string, at func(float64)) ([]string, error) {
	args := append(packageLimits(), "install", "--download-only", packages[0], packages[1])
	_, talk, err := a.tool(at, a.get, args...).run(ctx)
	if err != nil {
		return nil, fmt.Errorf("download packages: %w: %s", err, complaints(talk))
	}
	debs, err := filepath.Glob(filepath.Join(a.archives, "*.deb"))
	if debs = append(debs, local...); err == nil && len(debs) == 0 {
		err = fmt.Errorf("download packages: apt brought none: %s", complaints(talk))
	}
	return debs, err
}

func (a *apt) tool(at func(float64), program string, args ...string) tool {
	argv := append([]string{program, "-q", "-c", a.conf}, args...)
	t := tool{argv: argv, env: aptEnv()}
	if at != nil {
		t.argv = append([]string{program, "-o", "APT::Status-Fd=3"}, argv[1:]...)
		t.status = func(line []byte) {
			if done, ok := parseStatus(line); ok {
				at(done)
			}
		}
	}
	return t
}
