package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// ExportRequest asks for a data directory that any server of the instance's version starts on.
type ExportRequest struct {
	Name string
	// Dir is where to. It must not exist, or be empty; its parent must exist.
	Dir string
	// Owner is the name or the number of the user that it is to belong to, "" for the caller.
	Owner string
	// AsIs says to change no account but ours: root@localhost gets no password.
	AsIs bool
}

// Exported describes such a data directory.
type Exported struct {
	Dir    string
	Server *server.Server
	Bytes  int64
	Took   time.Duration
	// ClientConfig is the option file of root@localhost for client programs, in Dir and for its owner alone; "" if that
	// account is one of the instance's data, which stays as it is.
	ClientConfig string
	// Kept are accounts of ours that stay, locked, since views or routines name them as their definer.
	Kept []string
	// Start is the command line that starts the server on it, Socket where that listens, and Client the name of its client.
	Start          []string
	Socket, Client string

	password string // of root@localhost, if we gave it one
}

// clientConfig is the name of ClientConfig.
const clientConfig = "client.cnf"

// maxSocket is the longest path of a socket that is offered, in bytes; see unix(7).
const maxSocket = 100

// Export writes the data that an instance has now to a directory: recovered, shut down cleanly, and without what is
// Ramaria's. The instance may run. Errors match instance.ErrNotFound, *volume.NoRoomError and, for a directory or an
// owner that cannot be used, RequestError.
func (e *Engine) Export(ctx context.Context, q ExportRequest) (out Exported, err error) {
	began := time.Now()
	i, err := e.parent(q.Name)
	if err != nil {
		return Exported{}, err
	}
	if out.Dir, err = filepath.Abs(q.Dir); err != nil {
		return Exported{}, err
	}
	if real, err := filepath.EvalSymlinks(out.Dir); err == nil {
		out.Dir = real
	}
	if err := checkNew(out.Dir); err != nil {
		return Exported{}, RequestError{err}
	}
	owner, err := e.owner(q.Owner)
	if err != nil {
		return Exported{}, RequestError{err}
	}
	work, err := e.newExportDir(out.Dir)
	if err != nil {
		return Exported{}, err
	}
	defer func() { err = errors.Join(err, work.end()) }()
	size, err := sys.DiskUsage(i.DataDir())
	if err != nil {
		return Exported{}, err
	}
	if err := volume.CheckRoom(work, size, "the data of instance "+q.Name); err != nil {
		return Exported{}, err
	}
	if out.Server = i.Server; out.Server.Missing() != "" {
		if out.Server, err = e.ReplacementServer(ctx, i); err != nil {
			return Exported{}, err
		}
	}
	img, discard, err := e.exportImage(ctx, i, &out, q.AsIs)
	if err != nil {
		return Exported{}, fmt.Errorf("export instance %s: %w", q.Name, err)
	}
	defer func() { err = errors.Join(err, discard()) }()
	out.Bytes = img.Size
	out.Start, out.Socket = startCommand(i, out, img.PageSize, owner)
	if err := out.writeClientConfig(img.DataDir()); err != nil {
		return Exported{}, fmt.Errorf("export instance %s: %w", q.Name, err)
	}
	// Before the copy, which keeps owners and modes: it appears whole.
	err = errors.Join(os.Chmod(img.DataDir(), 0o700), server.ChownTree(img.DataDir(), owner)) //nolint:forbidigo // of the image that is ours
	if err == nil {
		err = work.place(ctx, img.DataDir(), out.Dir)
	}
	if err != nil {
		return Exported{}, fmt.Errorf("export instance %s: %w", q.Name, err)
	}
	out.Client = "mysql"
	if len(out.Server.Client.Argv) > 0 {
		out.Client = filepath.Base(out.Server.Client.Path())
	}
	out.Took = time.Since(began)
	return out, nil
}

// writeClientConfig writes the password of root@localhost, if we gave it one, into a data directory that will be out.Dir:
// arguments and the terminal's history are for others to read.
func (out *Exported) writeClientConfig(dataDir string) (err error) {
	if out.password == "" {
		return nil
	}
	d, err := sys.OpenDir(dataDir)
	if err != nil {
		return err
	}
	defer d.CloseWith(&err)
	f, err := d.Open(clientConfig, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	out.ClientConfig = filepath.Join(out.Dir, clientConfig)
	at := dbconn.Endpoint{Socket: out.Socket, Login: dbconn.Login{User: "root", Password: out.password}}
	_, err = f.WriteString(at.ClientConfig())
	return errors.Join(err, f.Close())
}

// checkNew refuses a directory that holds anything.
func checkNew(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(dir)); err != nil {
			return fmt.Errorf("export to %s: %w\nhint: mkdir -p %s", dir, err, server.ShellWord(filepath.Dir(dir)))
		}
		return nil
	case err != nil:
		return fmt.Errorf("export to %s: %w\nhint: a new directory", dir, err)
	case len(entries) > 0:
		return fmt.Errorf("export to %s: it is not empty\nhint: a new directory, or an empty one", dir)
	}
	return nil
}

// exportPrefix begins the names of the directories, beside those that are exported, in which these are made.
const exportPrefix = ".ramaria-export-"

// exportDir is such a directory. Its lock is held by the process that makes it.
type exportDir struct {
	volume.Target
	lock *sys.FileLock
}

// newExportDir makes one beside dir, and removes those that killed commands left.
func (e *Engine) newExportDir(dir string) (_ *exportDir, err error) {
	parent := filepath.Dir(dir)
	if left, err := sys.Glob(parent, exportPrefix+"*"); err == nil {
		for _, path := range left {
			e.sweepExport(path)
		}
	}
	path, err := os.MkdirTemp(parent, exportPrefix)
	if err != nil {
		return nil, fmt.Errorf("export to %s: %w", dir, err)
	}
	w := &exportDir{}
	if w.lock, err = sys.TryLock(filepath.Join(path, "lock"), sys.Exclusive); err == nil {
		w.Target, err = e.Opener().Outside(path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("export to %s: %w", dir, err), os.RemoveAll(path))
	}
	return w, nil
}

// sweepExport removes a directory that a killed command of the caller left.
func (e *Engine) sweepExport(path string) {
	fi, err := os.Lstat(path)
	if err != nil {
		return
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || !fi.IsDir() || int(st.Uid) != e.UID {
		return
	}
	lock, err := sys.TryLock(filepath.Join(path, "lock"), sys.Exclusive)
	if err != nil {
		return // it is being made
	}
	defer lock.Unlock()
	if err := sys.RemoveTree(path); err != nil {
		e.note("warning: %s", err)
	}
}

// place copies a data directory that no process writes to, and gives the copy its name, of an empty directory or of
// none.
func (w *exportDir) place(ctx context.Context, from, to string) error {
	made := filepath.Join(w.Dir(), "data")
	if err := w.Snapshot(ctx, from, made, volume.How{}); err != nil {
		return err
	}
	if err := sys.SyncFS(made); err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) { // of one that is not empty it is an error
		return err
	}
	return os.Rename(made, to)
}

func (w *exportDir) end() error {
	return errors.Join(sys.RemoveTree(w.Dir()), w.lock.Unlock())
}

// owner finds a user. Only root gives files away.
func (e *Engine) owner(name string) (server.Account, error) {
	if name == "" || name == strconv.Itoa(e.UID) { // who may have no name
		return server.Account{UID: e.UID, GID: os.Getegid()}, nil
	}
	account, err := findUser(name)
	if err != nil {
		return server.Account{}, fmt.Errorf("export with --owner %s: %w; without --owner the files are yours", name, err)
	}
	if e.UID != 0 && account.UID != e.UID {
		return server.Account{}, fmt.Errorf("export with --owner %s: only root gives files to another user\nhint: sudo chown -R %s DIR afterwards", name, server.ShellWord(name))
	}
	return account, nil
}

// exportImage makes an image of the data that an instance has now, on the disk, where a server can work on it wherever
// the directory is to be.
func (e *Engine) exportImage(ctx context.Context, i *instance.Instance, out *Exported, asIs bool) (_ *image.Lease, discard func() error, err error) {
	if err := checkFileLimit(); err != nil {
		return nil, nil, err
	}
	v, err := e.openVolume(ctx, string(volume.Disk))
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(e.sweep(ctx, v), e.sweepTempMarks(ctx)); err != nil {
		return nil, nil, err
	}
	images, err := e.Images(v)
	if err != nil {
		return nil, nil, err
	}
	images.Instances = e.withInstanceData
	d := out.Server.Dialect()
	images.Last = func(ctx context.Context, db *sql.DB) (keep []string, err error) {
		if !asIs {
			out.password, err = openRoot(ctx, db, d)
		}
		if err == nil {
			out.Kept, err = dbconn.LockDefiners(ctx, db, []dbconn.Login{i.Endpoint.Login})
		}
		return out.Kept, err
	}
	l, err := images.Ensure(ctx, image.Recipe{
		Server: out.Server, From: []image.Source{{Kind: image.FromInstance, Name: i.Name}}, User: i.Endpoint.User, Set: i.Spec.Set, Unconfined: i.Spec.Unconfined(),
	})
	if err != nil {
		return nil, nil, err
	}
	return l, func() error { return images.Discard(context.WithoutCancel(ctx), l) }, nil
}

// openRoot gives root@localhost a password, if it has no way in but that of the operating system's root or none at all.
func openRoot(ctx context.Context, db *sql.DB, d dbconn.Dialect) (password string, err error) {
	var shut int
	if err := db.QueryRowContext(ctx, d.RootShut).Scan(&shut); err != nil {
		return "", fmt.Errorf("look for root@localhost: %w", err)
	}
	if shut == 0 {
		return "", nil
	}
	password = dbconn.NewPassword()
	if _, err := db.ExecContext(ctx, fmt.Sprintf(d.OpenRoot, dbconn.Quote(password))); err != nil {
		return "", fmt.Errorf("give root@localhost a password: %w", err)
	}
	return password, nil
}

// startCommand is the command line of a plain server on an exported directory.
func startCommand(i *instance.Instance, out Exported, pageSize int, owner server.Account) (argv []string, socket string) {
	socket = filepath.Join(out.Dir, "mysqld.sock")
	if len(socket) > maxSocket {
		socket = filepath.Join("/tmp", filepath.Base(out.Dir)+".sock")
	}
	argv = []string{filepath.Base(out.Server.Daemon.Path()), "--no-defaults", "--datadir=" + out.Dir, "--socket=" + socket}
	if owner.UID == 0 || i.Account != (server.Account{}) { // started by root
		if u, err := user.LookupId(strconv.Itoa(owner.UID)); err == nil {
			argv = append(argv, "--user="+u.Username)
		}
	}
	if _, set := i.Spec.Set["innodb_page_size"]; pageSize != 0 && !set {
		argv = append(argv, fmt.Sprintf("--innodb-page-size=%d", pageSize))
	}
	for _, line := range server.ShapingOf(i.Spec.Set) {
		argv = append(argv, "--"+strings.ReplaceAll(line, "_", "-"))
	}
	return argv, socket
}
