package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// prepared is what an instance is made from: nothing has been made yet.
type prepared struct {
	volume volume.Volume
	// standing is the volume as it was opened.
	standing standing
	image    *image.Lease
	server   *server.Server
}

// prepare finds the server and has the image built if it is not there.
func (e *Engine) prepare(ctx context.Context, spec instance.Spec, stdin io.Reader) (_ *prepared, err error) {
	if err := errors.Join(checkFileLimit(), image.CheckSources(spec.From)); err != nil {
		return nil, err
	}
	software, err := e.software(spec)
	if err != nil {
		return nil, err
	}
	srv, err := e.Finder().Find(ctx, software)
	if err != nil {
		return nil, err
	}
	if err := srv.CheckSet(spec.Set, spec.Log == instance.LogOff, levelOf(spec)); err != nil {
		return nil, RequestError{err}
	}
	v, err := e.openVolume(ctx, spec.Volume)
	if err != nil {
		return nil, err
	}
	found := stand(v.Kind(), v.Dir())
	defer func() { err = found.explain(ctx, err) }()
	if err := errors.Join(e.sweep(ctx, v), e.sweepTempMarks(ctx)); err != nil {
		return nil, err
	}
	img, err := e.ensure(ctx, v, srv, spec, stdin)
	if err != nil {
		return nil, err
	}
	return &prepared{volume: v, standing: found, image: img, server: srv}, nil
}

// BuildImage builds the image that spec asks for, unless it exists, and returns its id. It
// reads stdin for the source "-".
func (e *Engine) BuildImage(ctx context.Context, spec instance.Spec, stdin io.Reader) (string, error) {
	p, err := e.prepare(ctx, spec, stdin)
	if err != nil {
		return "", err
	}
	defer p.image.Release()
	return p.image.ID, nil
}

// ensure returns the image that spec asks for.
func (e *Engine) ensure(ctx context.Context, v volume.Volume, srv *server.Server, spec instance.Spec, stdin io.Reader) (_ *image.Lease, err error) {
	images, err := e.Images(v)
	if err != nil {
		return nil, err
	}
	images.Instances = e.withInstanceData
	recipe := image.Recipe{Server: srv, Key: spec.Key, AllowEmpty: spec.AllowEmpty, Fit: spec.Fit, Database: spec.Database, User: spec.User, Set: spec.Set, Unconfined: spec.Unconfined()}
	if text := e.unconfinedNote(spec, server.Unconfinable()); text != "" {
		e.note("%s", text)
	}
	from, release, err := e.spoolSources(ctx, images, spec.From, stdin)
	if err != nil {
		return nil, err
	}
	defer release()
	recipe.From = from
	return images.Ensure(ctx, recipe)
}

// unconfinedNote is said of a dump of somebody else's that a server loads which may write wherever its account may; why is
// why no server here can be confined, "" if they can.
func (e *Engine) unconfinedNote(spec instance.Spec, why string) string {
	if spec.Unconfined() {
		why = "--confine off"
	}
	foreign := slices.ContainsFunc(spec.From, func(s image.Source) bool {
		return s.Kind == image.FromPath || s.Kind == image.FromStdin || s.Kind == image.FromBucket || s.Kind == image.FromURL
	})
	if why == "" || !foreign {
		return ""
	}
	who := "you may"
	if e.Account != (server.Account{}) {
		who = fmt.Sprintf("uid %d may", e.Account.UID)
	}
	return fmt.Sprintf("warning: its server is not confined (%s): what --from names can read and write, by SQL, whatever %s, such as ~/.ssh/authorized_keys by general_log_file", why, who)
}

// create makes an instance, in the place of old if that is not nil: only once
// the image is there is the old one stopped and removed.
func (e *Engine) create(ctx context.Context, old *instance.Record, o instance.Order, stdin io.Reader) (_ *instance.Instance, err error) {
	if err := checkParent(o); err != nil {
		return nil, err
	}
	if o.App.Password == "" {
		if o.App, err = login(o.Spec); err != nil {
			return nil, err
		}
	}
	if err := checkAtomic(o.Spec); err != nil {
		return nil, err
	}
	if err := e.checkDurable(o.Name, o.Spec, old != nil && levelOf(old.Spec).Durable()); err != nil {
		return nil, err
	}
	var was instance.Spec
	if old != nil {
		was = old.Spec
	}
	if err := e.probeBuckets(ctx, added(was, o.Spec)); err != nil {
		return nil, err
	}
	p, err := e.prepare(ctx, o.Spec, stdin)
	if err != nil {
		return nil, err
	}
	defer p.image.Release()
	defer func() { err = p.standing.explain(ctx, err) }()
	if old != nil {
		if err := e.remove(ctx, old); err != nil {
			return nil, err
		}
	}
	o.Image, o.Server = p.image, p.server
	i, err := e.instances(p.volume).Create(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := e.beginArchive(ctx, i, added(was, o.Spec)); err != nil {
		return nil, e.unmake(ctx, i, err)
	}
	if u, err := p.volume.Usage(); err == nil && u.Bound == volume.ByCgroup { // a measure that fails stops nothing
		e.note("room: %s free, bound by %s", volume.FormatBytes(u.Free), u.BoundBy())
	}
	if image.SourceInstance(o.Spec.From) == "" {
		return i, nil
	}
	return i, e.forgetImage(ctx, i, p)
}

// login returns the application's account.
func login(s instance.Spec) (dbconn.Login, error) {
	l := dbconn.Login{User: s.User, Password: dbconn.NewPassword()}
	if s.PasswordFile == "" {
		return l, nil
	}
	b, err := os.ReadFile(s.PasswordFile)
	if err != nil {
		return l, fmt.Errorf("read password: %w\nhint: leave --password-file out for a random one", err)
	}
	l.Password = strings.TrimRight(string(b), "\r\n")
	if l.Password == "" || strings.ContainsAny(l.Password, "\n\r\x00") {
		return l, fmt.Errorf("read password %s: it must be one line that is not empty\nhint: leave --password-file out for a random one", s.PasswordFile)
	}
	return l, nil
}
