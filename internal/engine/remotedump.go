package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dumper"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/load"
	"github.com/ramaria-db/ramaria/internal/server"
)

// logPosition is what dumpers write of the log, in a comment: MariaDB's and older ones of MySQL, and those since 8.0.26.
var logPosition = regexp.MustCompile(`CHANGE (?:MASTER|REPLICATION SOURCE) TO (?:MASTER|SOURCE)_LOG_FILE='([^']+)', (?:MASTER|SOURCE)_LOG_POS=(\d+)`)

// mostHead is how much of a dump is searched for it.
const mostHead = 1 << 20

// head looks for it in the beginning of what passes, and calls found with it, once.
type head struct {
	begins []byte
	found  func(file string, pos int64)
	done   bool
}

func (h *head) Write(p []byte) (int, error) {
	if h.done || len(h.begins) == mostHead {
		return len(p), nil
	}
	h.begins = append(h.begins, p[:min(mostHead-len(h.begins), len(p))]...)
	if m := logPosition.FindSubmatch(h.begins); m != nil {
		pos, err := strconv.ParseInt(string(m[2]), 10, 64)
		h.done, h.begins = err == nil, nil
		h.found(string(m[1]), pos)
	}
	return len(p), nil
}

// dumpInto has the dumper of the instance's server read the source, and loads what it writes.
func (e *Engine) dumpInto(ctx context.Context, s *remoteSource, i *instance.Instance) (at dbconn.Source, err error) {
	e.note("copying %s, %s, by %s", s.Address, databasesWords(len(s.facts.Databases)), filepath.Base(i.Server.Dumper.Path()))
	if err := dumper.CheckWhole(ctx, s.db, i.Server, s.Address); err != nil {
		return at, err
	}
	var gerr error
	begins := head{found: func(file string, pos int64) { // at once: the log may be purged before the dump has ended
		at.File, at.Pos = file, pos
		at.GTIDs, gerr = s.dialect.GTIDsAt(ctx, s.db, file, pos)
	}}
	err = dumper.Run{Of: i.Server, What: s.Address, Config: s.login.ClientConfig(), Args: s.dumperArgs(i.Server)}.Do(ctx, func(out io.Reader) error {
		_, err := load.Target{Server: i.Server, Endpoint: dbconn.Endpoint{Socket: i.Endpoint.Socket, Login: i.Supervisor}, Binary: true}.Load(ctx, "the dump of "+s.Address, io.TeeReader(out, &begins))
		return err
	})
	if err == nil && !begins.done {
		err = fmt.Errorf("dump %s: it does not say where the binary log goes on", s.Address)
	}
	return at, errors.Join(err, gerr)
}

// dumperArgs are the arguments by which a dumper reads the source.
func (s *remoteSource) dumperArgs(of *server.Server) []string {
	args := append([]string{"--host=" + s.host, "--port=" + s.port, "--protocol=tcp"}, dumper.Everything(of)...)
	switch {
	case s.flavour == server.MariaDB && s.TLS.Off:
		args = append(args, "--skip-ssl")
	case s.flavour == server.MariaDB && s.TLS.CA == "":
		args = append(args, "--ssl", "--skip-ssl-verify-server-cert")
	case s.flavour == server.MariaDB:
		args = append(args, "--ssl-ca="+s.TLS.CA, "--ssl-verify-server-cert")
	case s.TLS.Off:
		args = append(args, "--ssl-mode=DISABLED", "--get-server-public-key")
	case s.TLS.CA == "":
		args = append(args, "--ssl-mode=REQUIRED")
	default:
		args = append(args, "--ssl-mode=VERIFY_IDENTITY", "--ssl-ca="+s.TLS.CA)
	}
	return append(append(args, "--databases", "--"), s.facts.Databases...)
}

// databasesWords says how many databases there are.
func databasesWords(n int) string {
	if n == 1 {
		return "1 database"
	}
	return fmt.Sprintf("%d databases", n)
}
