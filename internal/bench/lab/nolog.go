package lab

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// NoLogServer is a server without a binary log and without a supervisor, on the volume and
// with the settings that ramaria's own instances have.
type NoLogServer struct {
	*PlainServer
	volume volume.Volume
	DB     *sql.DB
}

// StartWithoutLog starts one on a copy of an image.
func (l *Lab) StartWithoutLog(ctx context.Context, name string, kind volume.Kind, image string) (_ *NoLogServer, err error) {
	v, err := l.OpenVolume(ctx, kind)
	if err != nil {
		return nil, err
	}
	s := &NoLogServer{volume: v, PlainServer: &PlainServer{
		Lab: l, Dir: filepath.Join(v.Dir(), name), Volume: string(kind), noLog: true,
		Login: dbconn.Login{User: dbconn.SupervisorUser, Password: dbconn.NewPassword()},
	}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start a server without a log: %w", err), s.Close())
		}
	}()
	app := dbconn.Login{User: "app", Password: dbconn.NewPassword()}
	if err := s.files(server.Run, l.Server.Dialect().InitSQL(s.Login, app, "", false)); err != nil {
		return nil, err
	}
	data := filepath.Join(v.Dir(), "images", image, "data")
	if out, err := exec.CommandContext(ctx, "cp", "-a", "--reflink=auto", data, s.Data()).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cp -a: %w: %s", err, out)
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if s.DB, err = dbconn.Open(s.Socket(), s.Login, ""); err != nil {
		return nil, err
	}
	var on bool
	if err := s.DB.QueryRowContext(ctx, "SELECT @@log_bin").Scan(&on); err != nil {
		return nil, err
	}
	if on {
		return nil, errors.New("it has one")
	}
	if err := s.WriteClient(); err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends the server and removes its directory. It may be called more than once, and
// on nil.
func (s *NoLogServer) Close() error {
	if s == nil || s.volume == nil {
		return nil
	}
	if s.DB != nil {
		s.DB.Close()
	}
	v := s.volume
	s.volume = nil
	return errors.Join(s.Remove(), v.Close())
}
