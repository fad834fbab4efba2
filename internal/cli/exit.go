package cli

import (
	"context"
	"errors"
	"strconv"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/volume"

	"github.com/ramaria-db/ramaria/internal/backups"
)

// The exit statuses, a contract (see docs/exit-codes.md). `run` has the status of
// its command instead, and the three below for what goes wrong around it.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitNotFound    = 3 // no such instance, cluster, image or volume, or it must run and does not
	exitNoRoom      = 4 // it does not fit in the volume or in memory
	exitInterrupted = 130

	exitUnrestorable = 5 // verify: the backup cannot be restored
	exitFaulty       = 6 // verify: it was restored, and something is wrong with it

	exitRunFailed     = 125 // `run` itself failed
	exitRunCannotExec = 126 // the command cannot be executed
	exitRunNotFound   = 127 // command not found
)

// statusError is an error that only says how to exit.
type statusError int

func (e statusError) Error() string { return "exit status " + strconv.Itoa(int(e)) }

// usageError is a command line that cannot be carried out as written.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitOfAnswer maps the codes of an instance's API to exit statuses.
var exitOfAnswer = map[string]int{
	client.CodeNoRoom: exitNoRoom, client.CodeNotFound: exitNotFound, client.CodeUnavailable: exitNotFound, client.CodeInvalid: exitUsage,
}

// exitCode returns the status for an error.
func exitCode(ctx context.Context, err error) int {
	var usage usageError
	var invalid engine.RequestError
	var room *volume.NoRoomError
	var idle engine.NotRunningError
	var answer *client.Error
	var many manyError
	if errors.As(err, &many) {
		return exitCode(ctx, many[0])
	}
	if errors.As(err, &answer) {
		if status, ok := exitOfAnswer[answer.Code]; ok {
			return status
		}
	}
	switch {
	case errors.As(err, &room):
		return exitNoRoom
	case errors.As(err, &usage), errors.As(err, &invalid), errors.Is(err, instance.ErrName), errors.Is(err, image.ErrUsage), errors.Is(err, software.ErrUsage):
		return exitUsage
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.Is(err, archive.ErrNoArchive), errors.Is(err, backups.ErrNone), errors.Is(err, instance.ErrNotFound), errors.Is(err, image.ErrNotFound), errors.Is(err, cluster.ErrNotFound), errors.Is(err, engine.ErrNoVolume), errors.Is(err, instance.ErrNoMark), errors.Is(err, instance.ErrGone), errors.As(err, &idle), errors.Is(err, client.ErrNoServer):
		return exitNotFound
	}
	return exitError
}
