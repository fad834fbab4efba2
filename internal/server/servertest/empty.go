package servertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// EnvEmpty names a directory where the tests of one run share data directories of empty
// servers, since making one takes MySQL two seconds. `make test` sets it, and removes the
// directory at the end of the run. Without it each test makes its own.
const EnvEmpty = "RAMARIA_TEST_EMPTY"

// bootstrap makes the data directory, or copies one that another test of the run made.
func (r *Running) bootstrap(ctx context.Context) (err error) {
	fresh := func() error {
		return r.Bootstrap(ctx, r.path("my.cnf"), r.Config, r.dir, r.path("server.log"), r.Account)
	}
	shared := os.Getenv(EnvEmpty)
	if shared == "" {
		return fresh()
	}
	software, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		return err
	}
	place := sha256.Sum256([]byte(software))
	made := filepath.Join(shared, r.Name()+"-"+hex.EncodeToString(place[:8]))
	lock, err := sys.Lock(ctx, made+".lock", sys.Exclusive, nil)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return fresh() // it is another user's, or this process outlived the run
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	_, err = os.Stat(made)
	switch {
	case err == nil:
		return errors.Join(os.Remove(r.DataDir()), sys.CopyTree(ctx, made, r.DataDir(), nil))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := fresh(); err != nil {
		return err
	}
	half := made + ".half"
	return errors.Join(os.RemoveAll(half), sys.CopyTree(ctx, r.DataDir(), half, ownFiles), os.Rename(half, made))
}

// ownFiles leaves out what a server makes at its first start, and no two have the same:
// MySQL's server_uuid.
func ownFiles(rel string, _ fs.FileMode) (skip bool, err error) { return rel == "auto.cnf", nil }
