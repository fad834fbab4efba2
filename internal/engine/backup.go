package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// Backup makes a base backup of a durable instance, which must run. Errors are those of
// client.Client.Backup, or match instance.ErrNotFound or NotRunningError.
func (e *Engine) Backup(ctx context.Context, name string) (client.Backup, error) {
	return onArchive(e, name, func(c *client.Client) (client.Backup, error) {
		if err := e.notePause(ctx, c); err != nil {
			return client.Backup{}, err
		}
		return c.Backup(ctx)
	})
}

// VerifyBackups recovers beside a durable instance, which must run, what its archive has, and compares
// the two.
func (e *Engine) VerifyBackups(ctx context.Context, name string) (client.Verification, error) {
	return onArchive(e, name, func(c *client.Client) (client.Verification, error) { return c.VerifyBackups(ctx) })
}

func onArchive[T any](e *Engine, name string, f func(*client.Client) (T, error)) (T, error) {
	i, err := e.Running(name)
	if err != nil {
		var none T
		return none, err
	}
	return f(client.New(i.APISocket()))
}

// PruneBackups removes from the archive of a durable instance what its history does not need, whether the
// instance runs or not.
func (e *Engine) PruneBackups(ctx context.Context, name string) (out client.Pruned, err error) {
	err = e.onlineOrOffline(ctx, name, "prune the archive of", func(c *client.Client) error {
		out, err = c.PruneBackups(ctx)
		return err
	}, func(i *instance.Instance, _ *instance.Store) error {
		dir := e.archiveDir(name, i.Spec)
		if dir == "" {
			return fmt.Errorf("prune the archive of instance %s: it is not durable, and has none", name)
		}
		p, err := durable.PruneDir(ctx, dir, durable.PolicyOf(i.Spec, i.Server.Family()))
		out = client.Pruned{Backups: p.Bases, Epochs: p.Epochs}
		return err
	})
	return out, err
}

// ArchiveOf finds the archive that is meant by the name of an instance, which may have been removed, by a directory, or
// by the URL of a bucket.
func (e *Engine) ArchiveOf(ctx context.Context, source string) (dir string, _ *archive.Manifest, err error) {
	if instance.IsBucket(source) {
		m, err := PeekBucket(ctx, source)
		return source, m, err
	}
	if strings.TrimSpace(source) == "" {
		return "", nil, RequestError{fmt.Errorf("find archive %q: it names none\nhint: NAME, DIR or s3://BUCKET/PREFIX; . is the current directory", source)}
	}
	dir = source
	if filepath.Base(source) == source {
		if dir, err = e.archiveNamed(source); err != nil {
			return "", nil, err
		}
	}
	m, err := durable.Read(dir)
	return dir, m, err
}

// archiveNamed is the directory of the archive of an instance.
func (e *Engine) archiveNamed(name string) (string, error) {
	r, err := e.Registry.Get(name)
	if errors.Is(err, instance.ErrNotFound) {
		if dir := e.defaultArchive(name); durable.Exists(dir) {
			return dir, nil
		}
	}
	if err != nil {
		return "", err
	}
	dir := e.archiveDir(name, r.Spec)
	if dir == "" {
		return "", fmt.Errorf("find the archive of instance %s: it is not durable, and has none\nhint: ramaria up NAME --durable makes one that has", name)
	}
	return dir, nil
}
