package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type upOptions struct {
	specFlags
	fresh bool
}

func newUp(a *app) *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up [NAME]",
		Short: "Create an instance if it is new, start it, print its DSN",
		Long: `Create an instance if it is new, start it, and print its DSN, alone on a line:
mysql://USER:PASSWORD@127.0.0.1:PORT/DATABASE

An instance that runs is left as it is; one that was stopped starts with its data.
Flags that differ from those it was made with are an error, unless --fresh makes it
anew. Data in RAM lives until ` + "`ramaria down --rm`" + ` or a reboot.`,
		Example: `  ramaria up
  ramaria up shop --from shop.sql.gz
  zcat huge.sql.gz | ramaria up --from -
  ramaria up ci --from 'exec:./manage.py migrate' --key "$(git rev-parse HEAD)"`,
		Args: maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runUp(cmd.Context(), a, cmd, nameArg(args), &o)
		},
		ValidArgsFunction: a.completeNames,
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&o.fresh, "fresh", false, "start again from the clean image; what the instance holds is lost")
	return cmd
}

func runUp(ctx context.Context, a *app, cmd *cobra.Command, name string, o *upOptions) error {
	if err := instance.CheckNew(name); err != nil {
		return usageError{err}
	}
	spec, err := o.spec()
	if err != nil {
		return err
	}
	lock, err := a.registry.Lock(ctx, name, func() { a.say("waiting: another command is at work on instance %s", name) })
	if err != nil {
		return err
	}
	defer lock.Unlock()

	i, err := a.existing(ctx, cmd, name, spec, o.fresh)
	if err != nil {
		return err
	}
	created := i == nil
	if created {
		if i, err = a.create(ctx, nil, instance.Order{Name: name, Spec: spec}); err != nil {
			return err
		}
	}
	if err := a.start(ctx, i, created); err != nil {
		return err
	}
	// The supervisor may have chosen another port.
	if i, err = a.registry.Open(name); err != nil {
		return err
	}
	if created {
		a.noteOpen(ctx, i)
		a.noteLogout(i)
	}
	fmt.Fprintln(a.stdout, i.Endpoint.URL())
	return nil
}

// existing returns the instance called name if it is to go on as it is, nil if it
// is to be made.
func (a *app) existing(ctx context.Context, cmd *cobra.Command, name string, spec instance.Spec, fresh bool) (*instance.Instance, error) {
	r, err := a.registry.Get(name)
	if errors.Is(err, instance.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	state, err := r.State()
	if err != nil {
		return nil, err
	}
	if spec, err = a.settled(r, spec, askedBy(cmd, "volume")); err != nil {
		return nil, err
	}
	if diff := changedFlags(cmd, r.Spec, spec); len(diff) > 0 && !fresh {
		return nil, usageError{otherwiseError(name, diff)}
	}
	if !fresh && state.Phase != instance.Gone {
		i, err := a.registry.Open(name)
		if err == nil {
			a.noteChanges(ctx, cmd, i)
		}
		return i, err
	}
	if state.Phase == instance.Gone {
		a.say("instance %s: %s; making it again", name, state.Reason)
	}
	return a.remake(ctx, r, merge(cmd, r.Spec, spec))
}

// otherwiseError says that an instance is not what is asked for.
func otherwiseError(name string, diff []string) error {
	made, goOn := "with other flags", ""
	for _, variable := range slices.Sorted(maps.Values(choosers)) {
		if strings.Contains(strings.Join(diff, "\n"), "  "+variable+": ") {
			made, goOn = "otherwise", goOn+fmt.Sprintf("; %s= goes on with what it has", variable)
		}
	}
	return fmt.Errorf("start instance %s: it was made %s\n%s\nhint: ramaria up %s --fresh ... makes it anew with these, its data is lost; ramaria down %s --rm removes it%s",
		name, made, strings.Join(diff, "\n"), name, name, goOn)
}

// remake makes an instance anew under its name; accounts and port stay.
func (a *app) remake(ctx context.Context, r *instance.Record, spec instance.Spec) (*instance.Instance, error) {
	order := instance.Order{Name: r.Name, Spec: spec}
	if old, err := a.registry.Open(r.Name); err == nil {
		order.Port = old.Endpoint.Port
		if spec.User == r.Spec.User && spec.PasswordFile == r.Spec.PasswordFile {
			order.App = old.Endpoint.Login
		}
	}
	i, err := a.create(ctx, r, order)
	return i, explainParent(err, r, spec)
}

// prepared is what an instance is made from: nothing has been made yet.
type prepared struct {
	volume volume.Volume
	image  *image.Lease
	server *server.Server
}

// prepare finds the server and has the image built if it is not there.
func (a *app) prepare(ctx context.Context, spec instance.Spec) (_ *prepared, err error) {
	if err := enoughFiles(); err != nil {
		return nil, err
	}
	software, err := a.software(spec)
	if err != nil {
		return nil, err
	}
	srv, err := a.finder().Find(ctx, software)
	if err != nil {
		return nil, err
	}
	if err := srv.CheckSet(spec.Set, spec.Log == instance.LogOff); err != nil {
		return nil, usageError{err}
	}
	v, err := a.openVolume(ctx, spec.Volume)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(a.sweep(ctx, v), a.sweepClaims(ctx)); err != nil {
		return nil, err
	}
	img, err := a.ensure(ctx, v, srv, spec)
	if err != nil {
		return nil, err
	}
	return &prepared{volume: v, image: img, server: srv}, nil
}

// ensure returns the image that spec asks for.
func (a *app) ensure(ctx context.Context, v volume.Volume, srv *server.Server, spec instance.Spec) (_ *image.Lease, err error) {
	images, err := a.images(v)
	if err != nil {
		return nil, err
	}
	images.Instances = a.withData
	recipe := image.Recipe{Server: srv, Key: spec.Key, Database: spec.Database, User: spec.User, Set: spec.Set, Unconfined: spec.Unconfined()}
	recipe.From = slices.Clone(spec.From)
	if i := slices.Index(recipe.From, image.StdinName); i >= 0 {
		spool, err := images.Spool(ctx, a.stdin)
		if err != nil {
			return nil, err
		}
		defer spool.Close() //nolint:errcheck // the next command sweeps what is left
		recipe.From[i] = spool.Path
	}
	return images.Ensure(ctx, recipe)
}

// create makes an instance, in the place of old if that is not nil: only once
// the image is there is the old one stopped and removed.
func (a *app) create(ctx context.Context, old *instance.Record, o instance.Order) (*instance.Instance, error) {
	err := checkParent(o)
	if err != nil {
		return nil, err
	}
	if o.App.Password == "" {
		if o.App, err = login(o.Spec); err != nil {
			return nil, err
		}
	}
	p, err := a.prepare(ctx, o.Spec)
	if err != nil {
		return nil, err
	}
	defer p.image.Release()
	if old != nil {
		if err := a.remove(ctx, old); err != nil {
			return nil, err
		}
	}
	o.Image, o.Server = p.image, p.server
	i, err := a.instances(p.volume).Create(ctx, o)
	if err != nil || image.SourceInstance(o.Spec.From) == "" {
		return i, err
	}
	return i, a.forgetImage(ctx, i, p)
}

// start starts the supervisor of an instance unless it runs. One that was just
// created does not stay when it cannot start.
func (a *app) start(ctx context.Context, i *instance.Instance, created bool) error {
	state, err := i.State()
	if err != nil && created {
		return a.unmake(ctx, i, err)
	}
	if err != nil || state.Phase.Alive() {
		return err
	}
	if err := a.equip(ctx, i); err != nil {
		if created {
			return a.unmake(ctx, i, err)
		}
		return err
	}
	if !created { // Create has just looked
		v, err := a.volumeOf(ctx, &i.Record)
		if err != nil {
			return err
		}
		if err := volume.CheckRoom(v, instance.StartRoom, "starting instance "+i.Name); err != nil {
			return err
		}
	}
	if state.Phase == instance.Crashed {
		a.say("instance %s was not shut down cleanly; its server recovers", i.Name)
	}
	// Whose child it is does not matter: this process ends before it.
	_, err = supervisor.Spawn(ctx, i, a.superviseArgv(i.Name))
	if err == nil {
		return nil
	}
	if created {
		return a.unmake(ctx, i, err)
	}
	switch _, hint := splitHint(err); {
	case ctx.Err() != nil || hint != "":
	case state.Phase == instance.Crashed:
		err = fmt.Errorf("%w\nhint: its data did not survive the crash; ramaria up %s --fresh starts again from the clean image", err, i.Name)
	default:
		err = fmt.Errorf("%w\nhint: ramaria logs %s has the server's log; ramaria up %s --fresh starts again from the clean image", err, i.Name, i.Name)
	}
	return err
}

// unmake removes an instance that was just created and came to nothing.
func (a *app) unmake(ctx context.Context, i *instance.Instance, cause error) error {
	clean := context.WithoutCancel(ctx)
	v, err := a.volumeOf(clean, &i.Record)
	if err == nil {
		err = a.instances(v).Remove(clean, &i.Record)
	}
	return errors.Join(cause, err)
}

// noteLogout tells that a new instance will not outlive the user's last session. That of a run
// does not want to.
func (a *app) noteLogout(i *instance.Instance) {
	if i.Volume == string(volume.Shm) && a.host.RemovesIPC(a.uid) {
		a.say("note: systemd-logind empties your shared memory when your last session ends (RemoveIPC=yes), and instance %s goes with it\nhint: loginctl enable-linger keeps it, --volume disk does without shared memory", i.Name)
	}
}

// noteChanges tells when the sources given again have changed since the instance
// was made of them.
func (a *app) noteChanges(ctx context.Context, cmd *cobra.Command, i *instance.Instance) {
	if !cmd.Flags().Changed("from") {
		return
	}
	for _, f := range i.Spec.From {
		if f == image.StdinName {
			a.say("instance %s is there already: standard input was not read\nhint: --fresh makes it anew from it", i.Name)
			return
		}
	}
	r := image.Recipe{Server: i.Server, From: i.Spec.From, Key: i.Spec.Key, Database: i.Spec.Database, User: i.Spec.User, Set: i.Spec.Set}
	if made, err := r.Made(ctx, a.memo, i.Image); err == nil && !made {
		a.say("instance %s: its source has changed since; it keeps the data it has\nhint: --fresh makes it anew", i.Name)
	}
}
