package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/bucket"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// findArchive is the directory of the archive that is called by the name of its instance, or by its own.
func (e *Engine) findArchive(source string) (string, error) {
	if strings.Contains(source, "://") {
		return "", RequestError{fmt.Errorf("restore %s: an archive is in a directory or in a bucket\nhint: ramaria restore DIR --as NAME, ramaria restore s3://BUCKET/PREFIX --as NAME", source)}
	}
	if instance.CheckName(source) != nil {
		return filepath.Abs(source)
	}
	r, err := e.Registry.Get(source)
	if err == nil && levelOf(r.Spec).Durable() {
		return e.archiveDir(source, r.Spec), nil
	}
	if err != nil && !errors.Is(err, instance.ErrNotFound) {
		return "", err
	}
	dir := e.defaultArchive(source)
	if durable.Exists(dir) {
		return dir, nil
	}
	if err == nil {
		return "", fmt.Errorf("restore %s: the instance is not durable, and has no archive: %w\nhint: ramaria branch %s NEW copies it as it is now", source, archive.ErrNoArchive, source)
	}
	hint := "ramaria restore DIR names an archive by its directory"
	if abs, err := filepath.Abs(source); err == nil && durable.Exists(abs) {
		hint = "ramaria restore ./" + source + " is the directory"
	}
	return "", fmt.Errorf("restore %s: no such instance, and none of that name has left an archive in %s: %w\nhint: %s", source, dir, archive.ErrNoArchive, hint)
}

// takenError says that there is an instance of the name already.
func (e *Engine) takenError(q RestoreRequest, there *instance.Record) error {
	if !levelOf(there.Spec).Durable() {
		return instance.TakenError(q.New)
	}
	var dir string
	if instance.IsBucket(q.Source) {
		if !slices.ContainsFunc(there.Spec.Buckets(), func(url string) bool { return sameBucket(url, q.Source) }) {
			return instance.TakenError(q.New)
		}
		dir = q.Source
	} else {
		var err error
		if dir, err = e.findArchive(q.Source); err != nil || !sameDir(e.archiveDir(there.Name, there.Spec), dir) {
			return instance.TakenError(q.New)
		}
	}
	return fmt.Errorf("restore instance %s: %w by the instance itself\nhint: --as NEW puts another one beside it; ramaria down %s --rm removes it and leaves its archive, which ramaria restore %s --as %s --durable brings back",
		q.New, instance.ErrTaken, q.New, server.ShellWord(dir), q.New)
}

// sameDir reports whether two paths are one directory.
func sameDir(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// archiveUser is the instance of this home whose archive is in a directory; nil if it is of none.
func (e *Engine) archiveUser(dir string) (*instance.Record, error) {
	records, err := e.Registry.List()
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if levelOf(r.Spec).Durable() && sameDir(e.archiveDir(r.Name, r.Spec), dir) {
			return r, nil
		}
	}
	return nil, nil
}

// restoreBefore is the command that restores what an archive has up to a position.
func restoreBefore(source, name string) func(string) string {
	return func(position string) string {
		return fmt.Sprintf("ramaria restore %s --at-position %s --as %s", server.ShellWord(source), position, name)
	}
}

// explainRestore says of an error of a recovery from a source what can be done; command is what restores up to a
// position, and again is how to do without the rest.
func explainRestore(err error, source string, command func(position string) string, again string) error {
	var early *durable.EarlyError
	var none *durable.NoPositionError
	var broken *durable.BrokenError
	var damaged *archive.DamagedError
	var missing *archive.MissingError
	var inBucket *bucket.DamagedError
	switch {
	case errors.As(err, &early):
		return RequestError{fmt.Errorf("restore %s: %w", source, early)}
	case errors.As(err, &none):
		return RequestError{fmt.Errorf("restore %s: %w", source, none)}
	case errors.As(err, &broken):
		back := ""
		if errors.As(err, &missing) {
			back = "put back what is missing; "
		}
		return fmt.Errorf("%w\nhint: %sthe archive stays as it is; %s restores all that is before; %s goes on with that", err, back, command(durable.FormatPosition(broken.Epoch, broken.At)), again)
	case errors.As(err, &inBucket) && inBucket.InLog():
		return fmt.Errorf("%w\nhint: %s goes on with all that is before", err, again)
	case errors.As(err, &damaged):
		return fmt.Errorf("%w\nhint: the archive stays as it is; --at-position restores what is before the damage, ramaria restore another copy of it", err)
	}
	return err
}
