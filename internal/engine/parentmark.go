package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// claimPrefix begins the labels of the marks that images are made from.
	claimPrefix = "image-"
	// unmarkPatience is how long such a mark may take to go once it has served, and
	// sweepPatience how long a command takes to remove one that a killed command left.
	unmarkPatience = time.Minute
	sweepPatience  = 2 * time.Second
)

// claim is a mark of ours on a running instance, for as long as an image is made from it:
// a file, INSTANCE.LABEL, whose lock is held meanwhile. Only what such a file names is
// ever removed, and the label is a random one: a user's own mark is none of them,
// whatever it is called.
type claim struct {
	instance, label string
	lock            *sys.FileLock
}

func (e *Engine) claimsDir() string { return filepath.Join(e.Places.State, "image-marks") }

// newClaim claims a label before the mark is made.
func (e *Engine) newClaim(ctx context.Context, name string) (*claim, error) {
	if err := os.MkdirAll(e.claimsDir(), 0o700); err != nil {
		return nil, fmt.Errorf("copy instance %s: %w", name, err)
	}
	c := &claim{instance: name, label: claimPrefix + strings.ToLower(rand.Text())}
	var err error
	c.lock, err = sys.Lock(ctx, filepath.Join(e.claimsDir(), name+"."+c.label), sys.Exclusive, nil)
	if err != nil {
		return nil, fmt.Errorf("copy instance %s: %w", name, err)
	}
	return c, nil
}

// endClaim removes the mark, also one that the instance was about to make when the
// request for it ended. One that cannot be removed stays claimed, for sweepClaims.
func (e *Engine) endClaim(ctx context.Context, c *claim) error {
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), unmarkPatience)
	defer cancel()
	if err := e.unmark(clean, c.instance, c.label); err != nil {
		e.note("warning: mark %s of instance %s is still there; the next ramaria up tries again: %s", c.label, c.instance, err)
		return c.lock.Unlock()
	}
	return c.lock.UnlockRemove()
}

// sweepClaims removes the marks that killed commands left.
func (e *Engine) sweepClaims(ctx context.Context) error {
	entries, err := os.ReadDir(e.claimsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep marks: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		name, label, ok := strings.Cut(entry.Name(), ".")
		if !ok || !strings.HasPrefix(label, claimPrefix) {
			continue
		}
		lock, err := sys.TryLock(filepath.Join(e.claimsDir(), entry.Name()), sys.Exclusive)
		if errors.Is(err, sys.ErrLocked) {
			continue // an image is being made
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep marks: %w", err))
			continue
		}
		if e.sweepMark(ctx, name, label) {
			errs = append(errs, lock.UnlockRemove())
		} else { // the next command tries again
			errs = append(errs, lock.Unlock())
		}
	}
	return errors.Join(errs...)
}

// sweepMark reports whether a mark that a killed command left is gone.
func (e *Engine) sweepMark(ctx context.Context, name, label string) bool {
	limited, cancel := context.WithTimeout(ctx, sweepPatience)
	defer cancel()
	if i, err := e.parent(name); err == nil {
		state, err := i.State()
		held, herr := sys.Held(filepath.Join(e.Registry.Dir, name+".lock"))
		if err != nil || herr != nil || held && state.Phase != instance.Running {
			return false // some command is at it, perhaps this very one
		}
	}
	return e.unmark(limited, name, label) == nil
}

// unmark removes a mark, if it and the instance are there.
func (e *Engine) unmark(ctx context.Context, name, label string) error {
	if _, err := e.parent(name); errors.Is(err, instance.ErrNotFound) {
		return nil
	}
	err := e.atInstance(ctx, name, "unmark", func(c *client.Client) error { return c.DeleteMark(ctx, label) },
		func(i *instance.Instance, s *instance.Store) error { return s.DeleteMark(ctx, &i.Record, label) })
	var answer *client.Error
	if errors.Is(err, instance.ErrNoMark) || errors.As(err, &answer) && answer.Code == client.CodeNotFound {
		return nil
	}
	return err
}

// withMark calls use with the data of a running instance, by way of a mark that is made
// now and gone afterwards. An error that matches client.ErrNoServer says that use was not
// called.
func (e *Engine) withMark(ctx context.Context, name string, c *client.Client, use func(image.InstanceData) error) (err error) {
	claim, err := e.newClaim(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.endClaim(ctx, claim)) }()
	if err := e.tellPause(ctx, c); err != nil {
		return err
	}
	m, err := c.Mark(ctx, client.MarkRequest{Label: claim.label})
	if err != nil {
		return err
	}
	i, err := e.Registry.Open(name)
	if err != nil {
		return err
	}
	data, err := dataOf(i, i.MarkDir(claim.label), m.Created)
	if err != nil {
		return err
	}
	return use(data)
}
