package engine

import (
	"context"
	"io"

	"github.com/ramaria-db/ramaria/internal/dumper"
	"github.com/ramaria-db/ramaria/internal/progress"
)

// Dump has the server's own dumper write databases of an instance, which runs: see dumper.Dump. None is the database of the
// instance's DSN.
func (e *Engine) Dump(ctx context.Context, q dumper.Request) (dumper.Dumped, error) {
	i, err := e.Running(q.Name)
	if err != nil {
		return dumper.Dumped{}, err
	}
	if len(q.Databases) == 0 {
		q.Databases = []string{i.Endpoint.Database}
	}
	from := dumper.Source{Server: i.Server, Socket: i.Endpoint.Socket, Login: i.Supervisor, Bar: func(does string) io.WriteCloser {
		w, terminal := e.progress()
		return progress.Quiet(w, terminal, does, -1)
	}}
	d, err := dumper.Dump(ctx, from, q)
	return d, asRequest(err)
}
