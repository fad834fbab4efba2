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
	log, index := filepath.Join(b.dataDir(), last), filepath.Join(b.dataDir(), base+".index")
	if err := sys.CopyFile(ctx, filepath.Join(dir, last), log); err != nil {
		return err
	}
	if err := server.WritePrivate(index, []byte("./"+last+"\n"), b.Account); err != nil {
		return err
	}
	b.lastLog = base
	return b.Account.Own(log, 0o600)
}

// lastLog returns the name of the binary log of a data directory and that of its last
// file, "" if there is none that was in use when its server was killed.
func lastLog(dir string) (base, last string, err error) {
	indexes, err := filepath.Glob(filepath.Join(server.GlobEscape(dir), "*.index"))
	if err != nil {
		return "", "", fmt.Errorf("read data directory: %w", err)
	}
	for _, index := range indexes {
		names, err := listedIn(index)
		if err != nil {
			return "", "", err
		}
		if len(names) == 0 || strings.Contains(filepath.Base(index), "relay") {
			continue
		}
		name := names[len(names)-1]
		inUse, err := logInUse(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) { // the logs lie elsewhere
			continue
		}
		if err != nil {
			return "", "", err
		}
		if inUse {
			return strings.TrimSuffix(filepath.Base(index), ".index"), name, nil
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
	var flags [1]byte
	_, err = f.ReadAt(flags[:], logFlagsAt)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read binary log: %w", err)
	}
	return flags[0]&logInUseF != 0, nil
}

// listedIn returns the names of the files that the index of a log lists.
func listedIn(index string) ([]string, error) {
	f, err := openRegular(index)
	if err != nil {
		return nil, fmt.Errorf("read data directory: %w", err)
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read data directory: %w", err)
	}
	var names []string
	for _, l := range strings.Split(string(b), "\n") {
		if l = strings.TrimSpace(l); l != "" {
			names = append(names, filepath.Base(l))
		}
	}
	return names, nil
}

// settleByLog settles the copy with the log that was kept.
func (b *build) settleByLog(ctx context.Context, config string) error {
	text, err := os.ReadFile(config)
	if err != nil {
		return fmt.Errorf("settle data directory: %w", err)
	}
	text = append(text, "\nlog_bin = "+b.lastLog+"\nserver_id = 1\n"...)
	if err := server.WritePrivate(config, text, b.Account); err != nil {
		return err
	}
	if err := b.Server.Settle(ctx, config, b.dir, b.logPath(), b.Account); err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(server.GlobEscape(b.dataDir()), server.GlobEscape(b.lastLog)+".*"))
	if err != nil {
		return fmt.Errorf("settle data directory: %w", err)
	}
	b.lastLog = ""
	for _, path := range logs {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
