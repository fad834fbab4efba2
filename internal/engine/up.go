package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// UpRequest asks for a running instance.
type UpRequest struct {
	Name string
	// Spec says what to make the instance of.
	Spec instance.Spec
	// Options are the options that set fields of Spec. An existing instance must have been made
	// with the same values of those fields; its other fields stay.
	Options Options
	// Fresh makes the instance again from its image; what it holds is lost, and its marks.
	Fresh bool
	// AcceptLoss has a recovery go on with what the archive has, where that is not all that was acknowledged.
	AcceptLoss bool
	// Again is the command that makes this request with Fresh, for a hint.
	Again string
	// Stdin is read for the source "-".
	Stdin io.Reader
}

// Up creates an instance if it is new, starts it if it does not run, and returns it. The error
// matches RequestError if options differ from those that the instance was made with.
func (e *Engine) Up(ctx context.Context, q UpRequest) (*instance.Instance, error) {
	if err := instance.CheckNew(q.Name); err != nil {
		return nil, RequestError{err}
	}
	lock, err := e.lockName(ctx, q.Name)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()

	i, err := e.existing(ctx, q)
	if err != nil {
		return nil, err
	}
	created := i == nil
	if created {
		q.Spec.Archive = mergeArchive(nil, q.Spec.Archive)
		if i, err = e.create(ctx, nil, instance.Order{Name: q.Name, Spec: q.Spec}, q.Stdin); err != nil {
			return nil, err
		}
	}
	found := standOf(i)
	if err := e.startOrServe(ctx, i, created, lock); err != nil {
		return nil, found.explain(ctx, err)
	}
	// The supervisor may have chosen another port.
	if i, err = e.Registry.Open(q.Name); err != nil {
		return nil, err
	}
	if created {
		e.notePasswordless(ctx, i)
		e.noteLogout(i)
	}
	return i, nil
}

// existing returns the instance that is asked for if it is to go on as it is, nil if it is
// to be made.
func (e *Engine) existing(ctx context.Context, q UpRequest) (*instance.Instance, error) {
	r, err := e.Registry.Get(q.Name)
	if errors.Is(err, instance.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := e.refuseMember("start", r, "ramaria cluster up "+r.Spec.Cluster); err != nil {
		return nil, err
	}
	state, err := r.State()
	if err == nil && !q.Fresh { // which ends it, whatever it is at
		state, err = e.settle(ctx, r, state)
	}
	if err != nil {
		return nil, err
	}
	if err := e.leavePath(q, r); err != nil {
		return nil, err
	}
	spec, err := e.keepSatisfied(r, q.Spec, q.Options["volume"])
	if err != nil {
		return nil, err
	}
	spec.Archive = mergeArchive(r.Spec.Archive, spec.Archive)
	if diff := q.Options.Differences(r.Spec, spec); len(diff) > 0 && !q.Fresh {
		if !only(diff, changeable) {
			return nil, RequestError{optionsDifferError(q, diff)}
		}
		if err := e.change(ctx, q, r, q.Options.Merge(r.Spec, spec), diff); err != nil {
			return nil, err
		}
		if state, err = r.State(); err != nil {
			return nil, err
		}
	}
	durable := levelOf(r.Spec).Durable() && !q.Fresh
	if durable && state.Phase == instance.Gone {
		if err := e.checkArchive(r, q.AcceptLoss); err != nil {
			return nil, err
		}
		e.note("instance %s: %s; recovering it from its archive", q.Name, state.Reason)
		return e.recover(ctx, instance.Order{Name: q.Name, Spec: r.Spec}, q.AcceptLoss)
	}
	if durable && !state.Phase.Alive() {
		return e.existingDurable(ctx, r, q.AcceptLoss)
	}
	if !q.Fresh && state.Phase != instance.Gone {
		i, err := e.Registry.Open(q.Name)
		if _, again := q.Options["from"]; again && err == nil {
			e.noteChanges(ctx, i)
		}
		return i, err
	}
	if state.Phase == instance.Gone {
		e.note("instance %s: %s; making it again", q.Name, state.Reason)
	}
	return e.remake(ctx, r, q.Options.Merge(r.Spec, spec), q.Stdin)
}

// optionsDifferError says that an instance is not what is asked for.
func optionsDifferError(q UpRequest, diff []Difference) error {
	made, goOn := "with other flags", ""
	var lines, standing []string
	for _, d := range diff {
		lines = append(lines, d.String())
		if d.Option.Default {
			standing = append(standing, d.Option.Name)
		}
	}
	slices.Sort(standing)
	for _, by := range standing {
		made, goOn = "otherwise", goOn+fmt.Sprintf("; %s= goes on with what it has", by)
	}
	if i := slices.IndexFunc(diff, func(d Difference) bool { return d.Field == "volume" }); i >= 0 {
		goOn += fmt.Sprintf("; ramaria move %s --volume %s moves it with its data", q.Name, diff[i].Now)
	}
	from := ""
	if slices.ContainsFunc(q.Spec.From, func(s image.Source) bool { return s.Kind == image.FromStdin }) {
		from = ", from its standard input,"
	}
	return fmt.Errorf("start instance %s: it was made %s\n%s\nhint: %s makes it again with these flags%s and loses its data and marks; ramaria down %s --rm removes it%s",
		q.Name, made, strings.Join(lines, "\n"), q.Again, from, q.Name, goOn)
}

// remake makes an instance again under its name; accounts and port stay.
func (e *Engine) remake(ctx context.Context, r *instance.Record, spec instance.Spec, stdin io.Reader) (*instance.Instance, error) {
	if err := e.refuseFollowed("make again: the data", r.Name); err != nil {
		return nil, err
	}
	if r.Spec.Replica != nil {
		return nil, RequestError{fmt.Errorf("make instance %s again: it is a replica of %s\nhint: ramaria replica rm %[1]s && ramaria replica add %[2]s %[1]s", r.Name, r.Spec.Replica.Of)}
	}
	order := instance.Order{Name: r.Name, Spec: spec}
	if spec.Restored != nil {
		return e.restoreAgain(ctx, r, order)
	}
	old := e.kept(r.Name)
	if i, err := e.Registry.Open(r.Name); err == nil {
		old = &keptLogin{Login: i.Endpoint.Login, Port: i.Endpoint.Port}
	}
	if old != nil {
		order.Port = old.Port
		if spec.User == r.Spec.User && spec.PasswordFile == r.Spec.PasswordFile {
			order.App = old.Login
		}
	}
	i, err := e.create(ctx, r, order, stdin)
	return i, explainParent(err, r, spec)
}

// startOrServe starts an instance: by its service, if it has one. That locks its name itself, so that lock is let go of.
func (e *Engine) startOrServe(ctx context.Context, i *instance.Instance, created bool, lock *sys.FileLock) error {
	u, err := e.serviceOf(i.Name)
	if err != nil || u == nil {
		if err = errors.Join(err, e.start(ctx, i, created)); err == nil && i.PasswordChanged {
			e.note("%s", supervisor.PasswordPutBack(i))
		}
		return err
	}
	state, err := i.State()
	if err != nil || state.Phase.Alive() {
		return err
	}
	if err := lock.Unlock(); err != nil {
		return err
	}
	return e.startService(ctx, u)
}

// start starts the supervisor of an instance unless it runs. One that was just
// created does not stay when it cannot start.
func (e *Engine) start(ctx context.Context, i *instance.Instance, created bool) error {
	state, err := i.State()
	if err != nil && created {
		return e.unmake(ctx, i, err)
	}
	if err != nil || state.Phase.Alive() {
		return err
	}
	if err := e.beforeStart(ctx, i, state, created); err != nil {
		if created {
			return e.unmake(ctx, i, err)
		}
		return err
	}
	tell := e.reachBuckets(ctx, i)
	// Its parent does not matter: this process ends first.
	told := e.tellStart(&i.Record)
	err = supervisor.Spawn(ctx, i, e.superviseArgv(i.Name))
	told()
	if err == nil {
		tell()
		return nil
	}
	if created {
		return e.unmake(ctx, i, err)
	}
	switch {
	case ctx.Err() != nil || strings.Contains(err.Error(), "\nhint: "):
	case i.Spec.Cluster != "":
		if _, merr := e.madeCluster(i.Spec.Cluster); merr != nil {
			return err // whoever makes it says what to do
		}
		err = fmt.Errorf("%w\nhint: ramaria logs %s has the server's log; ramaria cluster up %s tries again; ramaria cluster replace %[3]s %[2]s makes it a copy of another member", err, i.Name, i.Spec.Cluster)
	case levelOf(i.Spec).Durable(): // nothing is to be thrown away
		err = fmt.Errorf("%w\nhint: ramaria logs %s has the server's log; ramaria restore %s --as NEW starts another instance with all that its archive has", err, i.Name, i.Name)
	case state.Phase == instance.Crashed:
		err = fmt.Errorf("%w\nhint: its data did not survive the crash; ramaria up %s --fresh starts again from the clean image", err, i.Name)
	default:
		err = fmt.Errorf("%w\nhint: ramaria logs %s has the server's log; ramaria up %s --fresh starts again from the clean image", err, i.Name, i.Name)
	}
	return err
}

// beforeStart looks whether an instance can be started, which is in state.
func (e *Engine) beforeStart(ctx context.Context, i *instance.Instance, state instance.State, created bool) error {
	if err := e.ensureServer(ctx, i); err != nil {
		return err
	}
	if i.Spec.Socket != "" { // a confined service makes no directory for it
		if err := server.ClaimSocket(i.Spec.Socket, i.Account); err != nil {
			return err
		}
	}
	if !created { // Create has just looked
		v, err := e.volumeOf(ctx, &i.Record)
		if err != nil {
			return err
		}
		if err := volume.CheckRoom(v, instance.StartRoom, "starting instance "+i.Name); err != nil {
			return err
		}
	}
	if state.Phase == instance.Crashed {
		e.note("instance %s was not shut down cleanly; its server recovers", i.Name)
	}
	return nil
}

// unmake removes an instance that was just created and came to nothing.
func (e *Engine) unmake(ctx context.Context, i *instance.Instance, cause error) error {
	clean := context.WithoutCancel(ctx)
	v, err := e.volumeOf(clean, &i.Record)
	if err == nil {
		err = e.instances(v).Remove(clean, &i.Record)
	}
	return errors.Join(cause, err)
}

// noteLogout tells that a new instance will not outlive the user's last session. That of a run
// does not want to.
func (e *Engine) noteLogout(i *instance.Instance) {
	if i.Volume == string(volume.Shm) && e.Host.RemovesIPC(e.UID) {
		e.note("note: systemd-logind empties your shared memory when your last session ends (RemoveIPC=yes), and instance %s goes with it\nhint: loginctl enable-linger keeps it, --volume disk does without shared memory", i.Name)
	}
}

// noteChanges tells when the sources given again have changed since the instance
// was made of them.
func (e *Engine) noteChanges(ctx context.Context, i *instance.Instance) {
	for _, f := range i.Spec.From {
		if f.Kind == image.FromStdin {
			e.note("instance %s is there already: standard input was not read\nhint: --fresh makes it again from it", i.Name)
			return
		}
	}
	r := image.Recipe{Server: i.Server, From: i.Spec.From, Key: i.Spec.Key, AllowEmpty: i.Spec.AllowEmpty, Fit: i.Spec.Fit, Database: i.Spec.Database, User: i.Spec.User, Set: i.Spec.Set}
	if made, err := r.Made(ctx, e.Memo, i.Image); err == nil && !made {
		e.note("instance %s: its source has changed since; it keeps the data it has\nhint: --fresh makes it again", i.Name)
	}
}
