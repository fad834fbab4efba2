package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// relayName is the name of the file with part i.
func relayName(i int) string { return fmt.Sprintf("%s.%06d", filepath.Base(server.RelayLog("")), i+1) }

// partOf is the part that a file of the relay log has, -1 for none.
func partOf(name string, parts int) int {
	for i := range parts {
		if relayName(i) == filepath.Base(name) {
			return i
		}
	}
	return -1
}

// layRelayLog makes the parts of the logs, and nothing else, a relay log.
func (s *session) layRelayLog(ctx context.Context) error {
	base := server.RelayLog(s.tmpDir())
	dir := filepath.Dir(base)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make relay log: %w", err)
	}
	var index strings.Builder
	for i, p := range s.plan.parts {
		path := filepath.Join(dir, relayName(i))
		if err := lay(ctx, p, path, s.Account); err != nil {
			return fmt.Errorf("make relay log of %s: %w", p.Path, err)
		}
		index.WriteString(path + "\n")
	}
	if err := server.WritePrivate(base+".index", []byte(index.String()), s.Account); err != nil {
		return err
	}
	// From now on the server may write there.
	return s.Account.Own(dir, 0o700)
}

// lay makes a file of the relay log.
func lay(ctx context.Context, p part, path string, account server.Account) (err error) {
	if p.Given {
		// Where that is not possible, it is copied.
		if err := os.Rename(p.Path, path); err == nil {
			return trim(p, path, account)
		}
	}
	in, err := os.Open(p.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(sys.CopyFile(ctx, out, in), out.Close()); err != nil {
		return err
	}
	return trim(p, path, account)
}

// trim leaves of a file what is to be applied, as that of a server which closed it.
func trim(p part, path string, account server.Account) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Truncate(p.to); err != nil {
		return err
	}
	if err := binlog.MarkClosed(f); err != nil {
		return err
	}
	return account.Own(path, 0o600)
}
