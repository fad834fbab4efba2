package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// logless is a server without a binary log and without a supervisor, on the volume and
// with the settings that ramaria's own instances have.
type logless struct {
	*plainServer
	volume volume.Volume
	db     *sql.DB
}

// startLogless starts one on a copy of an image.
func (l *Lab) startLogless(ctx context.Context, name string, kind volume.Kind, image string) (_ *logless, err error) {
	v, err := l.volume(ctx, kind)
	if err != nil {
		return nil, err
	}
	s := &logless{volume: v, plainServer: &plainServer{
		lab: l, dir: filepath.Join(v.Dir(), name), volume: string(kind), noLog: true,
		login: server.Login{User: server.SupervisorUser, Password: server.NewPassword()},
	}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start a server without a log: %w", err), s.close())
		}
	}()
	app := server.Login{User: "app", Password: server.NewPassword()}
	if err := s.files(server.Run, l.Server.InitSQL(s.login, app, "", false)); err != nil {
		return nil, err
	}
	data := filepath.Join(v.Dir(), "images", image, "data")
	if out, err := exec.CommandContext(ctx, "cp", "-a", "--reflink=auto", data, s.data()).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cp -a: %w: %s", err, out)
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if s.db, err = server.Open(s.socket(), s.login, ""); err != nil {
		return nil, err
	}
	var on bool
	if err := s.db.QueryRowContext(ctx, "SELECT @@log_bin").Scan(&on); err != nil {
		return nil, err
	}
	if on {
		return nil, errors.New("it has one")
	}
	if err := s.writeClient(); err != nil {
		return nil, err
	}
	return s, nil
}

// close ends the server and removes its directory. It may be called more than once, and
// on nil.
func (s *logless) close() error {
	if s == nil || s.volume == nil {
		return nil
	}
	if s.db != nil {
		s.db.Close()
	}
	v := s.volume
	s.volume = nil
	return errors.Join(s.remove(), v.Close())
}
