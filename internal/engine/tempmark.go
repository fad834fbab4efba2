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
	// tempMarkPrefix begins the labels of the marks that images are made from.
	tempMarkPrefix = "image-"
	// removeMarkTimeout is how long such a mark may take to go once it has served, and
	// sweepTimeout how long a command takes to remove one that a killed command left.
	removeMarkTimeout = time.Minute
	sweepTimeout      = 2 * time.Second
)

// tempMark is a mark that is made on a running instance to build an image from, and removed
// afterwards. A file, INSTANCE.LABEL, names it, and its lock is held meanwhile. Only marks that such
// a file names are ever removed; the labels are random, so that no mark of a user is one of them.
type tempMark struct {
	instance, label string
	lock            *sys.FileLock
}

func (e *Engine) tempMarksDir() string { return filepath.Join(e.Places.State, "image-marks") }

// newTempMark writes down the label of a mark that is going to be made.
func (e *Engine) newTempMark(ctx context.Context, name string) (*tempMark, error) {
	if err := sys.MakePrivate(e.tempMarksDir()); err != nil {
		return nil, fmt.Errorf("copy instance %s: %w", name, err)
	}
	m := &tempMark{instance: name, label: tempMarkPrefix + strings.ToLower(rand.Text())}
	var err error
	m.lock, err = sys.Lock(ctx, filepath.Join(e.tempMarksDir(), name+"."+m.label), sys.Exclusive, nil)
	if err != nil {
		return nil, fmt.Errorf("copy instance %s: %w", name, err)
	}
	return m, nil
}

// removeTempMark removes the mark, also one that the instance was about to make when the
// request for it ended. One that cannot be removed is left to sweepTempMarks.
func (e *Engine) removeTempMark(ctx context.Context, m *tempMark) error {
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeMarkTimeout)
	defer cancel()
	if err := e.removeMark(clean, m.instance, m.label); err != nil {
		e.note("warning: what instance %s was copied by still takes room in its volume; the next ramaria up tries again: %s", m.instance, err)
		return m.lock.Unlock()
	}
	return m.lock.UnlockRemove()
}

// sweepTempMarks removes the marks that killed commands left.
func (e *Engine) sweepTempMarks(ctx context.Context) error {
	entries, err := os.ReadDir(e.tempMarksDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep marks: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		name, label, ok := strings.Cut(entry.Name(), ".")
		if !ok || !strings.HasPrefix(label, tempMarkPrefix) {
			continue
		}
		lock, err := sys.TryLock(filepath.Join(e.tempMarksDir(), entry.Name()), sys.Exclusive)
		if errors.Is(err, sys.ErrLocked) {
			continue // an image is being made
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep marks: %w", err))
			continue
		}
		if e.sweepTempMark(ctx, name, label) {
			errs = append(errs, lock.UnlockRemove())
		} else { // the next command tries again
			errs = append(errs, lock.Unlock())
		}
	}
	return errors.Join(errs...)
}

// sweepTempMark reports whether a mark that a killed command left is gone.
func (e *Engine) sweepTempMark(ctx context.Context, name, label string) bool {
	limited, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	if i, err := e.parent(name); err == nil {
		state, err := i.State()
		held, herr := sys.Held(filepath.Join(e.Registry.Dir, name+".lock"))
		if err != nil || herr != nil || held && state.Phase != instance.Running {
			return false // some command is at it, perhaps this very one
		}
	}
	return e.removeMark(limited, name, label) == nil
}

// removeMark removes a mark, if it and the instance are there.
func (e *Engine) removeMark(ctx context.Context, name, label string) error {
	if _, err := e.parent(name); errors.Is(err, instance.ErrNotFound) {
		return nil
	}
	err := e.deleteMark(ctx, name, label)
	var answer *client.Error
	if errors.Is(err, instance.ErrNoMark) || errors.As(err, &answer) && answer.Code == client.CodeNotFound {
		return nil
	}
	return err
}

// withTempMark calls use with the data of a running instance, by way of a mark that is made
// now and gone afterwards. An error that matches client.ErrNoServer says that use was not
// called.
func (e *Engine) withTempMark(ctx context.Context, name string, c *client.Client, use func(image.InstanceData) error) (err error) {
	temp, err := e.newTempMark(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.removeTempMark(ctx, temp)) }()
	if err := e.notePause(ctx, c); err != nil {
		return err
	}
	m, err := c.Mark(ctx, client.MarkRequest{Label: temp.label})
	if err != nil {
		return labelError{err, temp.label}
	}
	i, err := e.Registry.Open(name)
	if err != nil {
		return err
	}
	data, err := instanceData(i, i.MarkDir(temp.label), m.Created)
	if err != nil {
		return err
	}
	return use(data)
}

// labelError is an error of such a mark in the words of those who have asked for none.
type labelError struct {
	error
	label string
}

// Error implements error.
func (w labelError) Error() string {
	return strings.ReplaceAll(w.error.Error(), "mark "+w.label, "the copy")
}

// Unwrap returns the error itself.
func (w labelError) Unwrap() error { return w.error }
