package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/server"
)

// policies are the fields of a spec that supervisors read again, atStart those that they read when they start, and
// changeable all that may change without a loss of data.
var (
	policies   = []string{"recover-within", "history", "when-full"}
	atStart    = append([]string{"front", "api-listen"}, policies...)
	changeable = append([]string{"durable", "archive"}, atStart...)
)

// only reports whether nothing but some fields differ.
func only(diff []Difference, fields []string) bool {
	return !slices.ContainsFunc(diff, func(d Difference) bool { return !slices.Contains(fields, d.Field) })
}

// needsDurable refuses options that only a durable instance has.
func needsDurable(spec instance.Spec) error {
	for flag, given := range map[string]bool{"archive": len(spec.Archive) > 0, "recover-within": spec.RecoverWithin != "", "history": spec.History != ""} {
		if given {
			return RequestError{fmt.Errorf("use --%s: it is for durable instances\nhint: add --durable", flag)}
		}
	}
	return nil
}

// change changes what may change of an instance that exists: it becomes durable, or not any more, or gets a front door.
func (e *Engine) change(ctx context.Context, q UpRequest, r *instance.Record, next instance.Spec, diff []Difference) error {
	was, will := levelOf(r.Spec).Durable(), levelOf(next).Durable()
	if !will && was {
		next.Archive, next.RecoverWithin, next.History = nil, "", ""
	}
	if err := e.mayBe(next); err != nil {
		return err
	}
	if will && r.Spec.Replica != nil {
		return RequestError{fmt.Errorf("make instance %s durable: it is a replica of %s, and where it is in that log is not in its archive\nhint: ramaria replica promote %[1]s first, or --volume disk for a replica", q.Name, r.Spec.Replica.Of)}
	}
	state, err := r.State()
	if err != nil {
		return err
	}
	switch {
	case only(diff, policies):
		err = e.put(r, next)
	case !was && state.Phase == instance.Gone:
		return nil // it is made again, with these options
	case state.Phase.Alive():
		return RequestError{fmt.Errorf("change instance %s: it runs\n%s\nhint: ramaria down %s && %s", q.Name, lines(diff), q.Name, strings.TrimSuffix(q.Again, " --fresh"))}
	case only(diff, atStart):
		err = e.put(r, next)
	case !was:
		err = e.makeDurable(ctx, r, next)
	case !will:
		err = e.endDurable(ctx, r, state, next)
	case slices.ContainsFunc(diff, func(d Difference) bool { return d.Field == "archive" }):
		err = e.moveArchive(ctx, q, r, next, diff)
	default:
		err = e.put(r, next)
	}
	return err
}

// mayBe refuses a spec that says what only durable instances have of one that is not.
func (e *Engine) mayBe(spec instance.Spec) error {
	if err := checkDoors(spec); err != nil || levelOf(spec).Durable() {
		return err
	}
	return needsDurable(spec)
}

func lines(diff []Difference) string {
	var out []string
	for _, d := range diff {
		out = append(out, d.String())
	}
	return strings.Join(out, "\n")
}

// put changes what an instance is asked to be.
func (e *Engine) put(r *instance.Record, spec instance.Spec) error {
	next := *r
	next.Spec = spec
	if err := e.Registry.Put(&next); err != nil {
		return err
	}
	r.Spec = spec
	return nil
}

// makeDurable makes an archive of the data of an instance that does not run. One that it had before goes on.
func (e *Engine) makeDurable(ctx context.Context, r *instance.Record, next instance.Spec) error {
	i, err := e.Registry.Open(r.Name)
	if err != nil {
		return err
	}
	if i.WaitsFor != "" {
		return RequestError{fmt.Errorf("make instance %s durable: its commits wait for replica %s, and can wait for one thing only\nhint: ramaria replica rm %[2]s", r.Name, i.WaitsFor)}
	}
	i.Spec = next
	if err := e.ensureServer(ctx, i); err != nil {
		return err
	}
	if err := i.Server.CheckSet(server.Usable(next.Set), next.Log == instance.LogOff, levelOf(next)); err != nil {
		return RequestError{err}
	}
	if held, err := pool.Holds(i.PoolPath()); err != nil {
		return err
	} else if held {
		return RequestError{fmt.Errorf("make instance %s durable: it has templates or clones, and resets are in no log\nhint: ramaria branch %s NAME keeps them, or: ramaria up %[2]s && ramaria db drop --all -i %[2]s && ramaria template rm --all -i %[2]s && ramaria down %[2]s", r.Name, r.Name)}
	}
	dir := e.archiveDir(r.Name, next)
	own, err := archiveIs(dir, i.Durable)
	if err != nil {
		return err
	}
	if err := e.checkDurable(r.Name, next, own); err != nil {
		return err
	}
	if !own {
		if err := e.probeBuckets(ctx, next.Buckets()); err != nil {
			return err
		}
	}
	e.note("instance %s: making a base backup of its data in %s", r.Name, dir)
	if err := e.beginArchive(ctx, i, next.Buckets()); err != nil {
		return fmt.Errorf("make instance %s durable: %w", r.Name, err)
	}
	r.Archived = i.Archived
	return e.put(r, next)
}

// archiveIs reports whether a directory has the archive that an instance belongs to, or belonged to.
func archiveIs(dir string, of *instance.Durable) (bool, error) {
	m, err := durable.Read(dir)
	if errors.Is(err, archive.ErrNoArchive) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return of != nil && of.Archive == m.ID.String(), nil
}

// endDurable has an instance that does not run archive nothing any more. What it has lost since its data was
// archived it gets from there first.
func (e *Engine) endDurable(ctx context.Context, r *instance.Record, state instance.State, next instance.Spec) error {
	dir := e.archiveDir(r.Name, r.Spec)
	if state.Phase == instance.Gone {
		if err := e.checkArchive(r, false); err != nil {
			return err
		}
		if _, err := e.recover(ctx, instance.Order{Name: r.Name, Spec: r.Spec}, false); err != nil {
			return err
		}
	} else if _, err := e.existingDurable(ctx, r, false); err != nil {
		if now, serr := r.State(); ctx.Err() != nil || serr != nil || now.Phase == instance.Gone {
			return err
		}
		// The archive may be the reason to do without it.
		e.note("instance %s goes on with its data in RAM: %s", r.Name, oneLine(err))
	}
	now, err := e.Registry.Get(r.Name)
	if err != nil {
		return err
	}
	now.Archived = nil
	was := r.Spec
	if err := e.put(now, next); err != nil {
		return err
	}
	*r = *now
	e.note("instance %s is not durable any more: a power cut takes its data. What was archived stays in %s", r.Name, strings.Join(append([]string{dir}, was.Buckets()...), " and "))
	return nil
}

func oneLine(err error) string {
	text, _ := splitHint(err)
	return strings.ReplaceAll(text, "\n", "; ")
}

// moveArchive takes over that the archive of an instance was moved to another directory, or that other buckets are
// to have copies of it.
func (e *Engine) moveArchive(ctx context.Context, q UpRequest, r *instance.Record, next instance.Spec, diff []Difference) error {
	i, err := e.Registry.Open(r.Name)
	if err != nil && !errors.Is(err, instance.ErrGone) {
		return err
	}
	was := r.Archived // all that is left where its data is gone
	if err == nil {
		was = i.Durable
	}
	own, err := archiveIs(e.archiveDir(r.Name, next), was)
	if err != nil {
		return err
	}
	if !own {
		return RequestError{optionsDifferError(q, diff)}
	}
	if err := inRAM(e.archiveDir(r.Name, next)); err != nil {
		return RequestError{err}
	}
	if err := durable.Nested(e.archiveDir(r.Name, next)); err != nil {
		return RequestError{err}
	}
	if dir := e.archiveDir(r.Name, next); dir != e.archiveDir(r.Name, r.Spec) {
		a, err := durable.Open(ctx, dir)
		if err != nil {
			return err
		}
		if err := errors.Join(a.MakeLast(), a.Close()); err != nil {
			return err
		}
	}
	var id archive.ID
	if err := id.UnmarshalText([]byte(was.Archive)); err != nil {
		return err
	}
	if _, err := e.claimBuckets(ctx, id, added(r.Spec, next)); err != nil {
		return err
	}
	for _, url := range added(next, r.Spec) {
		e.note("bucket %s gets nothing any more; what it has stays", url)
	}
	return e.put(r, next)
}
