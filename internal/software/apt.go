package software

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// apt is one private state of apt: the machine's own sources, keys, mirrors and
// preferences, or one source and no preferences, with lists, archives and a package
// status of its own. The status has next to nothing, so that apt resolves everything
// down to the C library.
type apt struct {
	conf     string // path of the configuration
	archives string // where the packages come to lie
	get      string // path of apt-get
	cache    string // path of apt-cache
	from     string // where the packages come from, for people
	env      []string
}

// update fetches the package lists and returns what was wrong with them. That is no
// failure yet: a third party's source may be broken while ours works.
func (a *apt) update(ctx context.Context, limit time.Duration, at func(float64)) (complaint error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, talk, err := a.command(at, a.get, "update").run(ctx)
	if text := complaints(talk); text != "" {
		return errors.New(text)
	}
	return err
}

// policy returns the versions that apt would install of the packages that it knows.
func (a *apt) policy(ctx context.Context, packages ...string) (map[string]string, error) {
	out, talk, err := a.command(nil, a.cache, append([]string{"policy"}, packages...)...).run(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask apt for its version: %w: %s", err, complaints(talk))
	}
	return parsePolicy(out), nil
}

// candidate returns the first packages of the family whose daemon has a version that is
// wanted.
func (a *apt) candidate(ctx context.Context, w want) ([]string, error) {
	offered, err := a.policy(ctx, slices.Concat(w.packages().names...)...)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, names := range w.packages().names {
		v, ok := packageVersion(offered[names[0]])
		if ok && w.matches(v) && w.family.TooOld(v) == nil {
			// Not every distribution has all the others.
			return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return offered[name] == "" }), nil
		}
		if ok {
			others = append(others, v.String())
		}
	}
	if len(others) > 0 {
		return nil, fmt.Errorf("%w: %s has %s, not %s", errUnsuited, a.from, strings.Join(others, " and "), w.text)
	}
	return nil, fmt.Errorf("%w %s", errNoCandidate, w.packages().names[0][0])
}

// errNoCandidate says that apt does not know what is asked for.
var errNoCandidate = errors.New("apt knows no package")

// plan asks apt what it would do to install the packages.
func (a *apt) plan(ctx context.Context, packages []string) (aptPlan, error) {
	out, talk, err := a.command(nil, a.get, append([]string{"install", "--print-uris"}, packages...)...).run(ctx)
	if err != nil {
		return aptPlan{}, fmt.Errorf("plan packages: %w: %s", err, complaints(talk))
	}
	return parsePlan(out), nil
}

// download brings the packages and all that they need, and returns their paths.
func (a *apt) download(ctx context.Context, packages []string, local []string, at func(float64)) ([]string, error) {
	args := append(append(packageLimits(), "install", "--download-only"), packages...)
	_, talk, err := a.command(at, a.get, args...).run(ctx)
	if err != nil {
		return nil, fmt.Errorf("download packages: %w: %s", err, complaints(talk))
	}
	debs, err := sys.Glob(a.archives, "*.deb")
	if debs = append(debs, local...); err == nil && len(debs) == 0 {
		err = fmt.Errorf("download packages: apt brought none: %s", complaints(talk))
	}
	return debs, err
}

func (a *apt) command(at func(float64), program string, args ...string) command {
	argv := append([]string{program, "-q", "-c", a.conf}, args...)
	c := command{argv: argv, env: a.env}
	if at != nil {
		c.argv = append([]string{program, "-o", "APT::Status-Fd=3"}, argv[1:]...)
		c.status = func(line []byte) {
			if done, ok := parseStatus(line); ok {
				at(done)
			}
		}
	}
	return c
}
