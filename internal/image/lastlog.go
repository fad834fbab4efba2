package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// keepLastLog copies the last binary log of a server that was killed beside the copy of
// its data, if the server rolls back what it has prepared and does not find there: for
// settle, which asks the log, and removes it. Logs of servers that were shut down have
// nothing to say, and none is part of an image.
func (b *build) keepLastLog(ctx context.Context, dir string) error {
	if !b.Server.LogDecides() {
		return nil
	}
	base, last, err := lastLog(dir)
	if err != nil || last == "" {
		return err
	}
	if err := b.copyLog(ctx, dir, last); err != nil {
		return err
	}
	if err := server.WritePrivate(filepath.Join(b.dataDir(), base+".index"), []byte("./"+last+"\n"), b.Account); err != nil {
		return err
	}
	b.lastLog = base
	return nil
}

// copyLog copies a binary log into the data directory, which is the account's already.
func (b *build) copyLog(ctx context.Context, dir, name string) (err error) {
	in, err := sys.OpenIn(dir, name)
	if err != nil {
		return fmt.Errorf("copy binary log: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	data, err := sys.OpenDir(b.dataDir())
	if err != nil {
		return fmt.Errorf("copy binary log: %w", err)
	}
	defer data.CloseWith(&err)
	out, err := data.Open(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return fmt.Errorf("copy binary log: %w", err)
	}
	err = sys.CopyFile(ctx, out, in)
	if err == nil && b.Account != (server.Account{}) {
		err = out.Chown(b.Account.UID, b.Account.GID)
	}
	return errors.Join(err, out.Close())
}

// KilledLog is the last file of the binary log in a directory, if it was in use when its server was killed: some
// of what that had acknowledged may be decided by it alone. It is "" for a server that was shut down.
func KilledLog(dir string) (string, error) {
	_, last, err := lastLog(dir)
	return last, err
}

// lastLog returns the name of the binary log of a data directory and that of its last
// file, or "" if no log was in use when its server was killed.
func lastLog(dir string) (base, last string, err error) {
	logs, err := server.Logs(dir)
	if err != nil {
		return "", "", err
	}
	for _, l := range logs {
		if len(l.Files) == 0 || strings.Contains(l.Base, "relay") {
			continue
		}
		name := l.Files[len(l.Files)-1]
		inUse, err := logInUse(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) { // the logs lie elsewhere
			continue
		}
		if err != nil {
			return "", "", err
		}
		if inUse {
			return l.Base, name, nil
		}
	}
	return "", "", nil
}

// Where a binary log says that it was not closed: LOG_EVENT_BINLOG_IN_USE_F among the
// flags of its first event, which follows a magic number of 4 bytes.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
const (
	logFlagsAt = 4 + 17
	logInUseF  = 1
)

func logInUse(path string) (bool, error) {
	f, err := openRegular(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var head [logFlagsAt + 1]byte
	_, err = f.ReadAt(head[:], 0)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read binary log: %w", err)
	}
	return string(head[:4]) == "\xfebin" && head[logFlagsAt]&logInUseF != 0, nil // MySQL's that are encrypted begin otherwise
}
