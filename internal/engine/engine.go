// Package engine has the use cases of Ramaria: what the command line, and whatever else
// serves users, ask for. It takes requests as values and returns results as values: it
// knows no flags, prints nothing, and ends no process.
package engine

import (
	"errors"
	"fmt"
	"io"

	"github.com/ramaria-db/ramaria/internal/backups"
	"github.com/ramaria-db/ramaria/internal/dumper"
	"github.com/ramaria-db/ramaria/internal/dumpfile/web"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Engine serves one user's home. Set UID, and Home for other places than the usual ones, before
// Open; Open sets the fields below Listener.
type Engine struct {
	// UID is the user's id. Home is the directory below which everything lies, "" for the usual
	// places.
	UID  int
	Home string
	// Host is the machine; the zero value is the one that the program runs on.
	Host host.Host
	// Listener gets notes and progress of use cases; may be nil.
	Listener Listener

	Places   host.Places
	Account  server.Account // that servers run under
	Memo     memo.Store
	Registry instance.Registry
	Owner    volume.Owner
}

// Listener gets notes and progress of use cases while they work. Use cases that run at once may
// call it at once.
type Listener interface {
	// Note gets a line for the user, which a line that begins with "hint: " may follow.
	Note(text string)
	// Progress returns where long steps write their progress, and whether that is a terminal,
	// on which a bar can be drawn.
	Progress() (w io.Writer, terminal bool)
}

// RequestError says that a request is invalid in itself, such as a malformed name, or does not
// fit how the instance was made.
type RequestError struct{ error }

func (e RequestError) Unwrap() error { return e.error }

// asRequest makes what packages below refuse of a request a RequestError.
func asRequest(err error) error {
	_, ofBackup := errors.AsType[backups.RefusedError](err)
	_, ofDump := errors.AsType[dumper.RefusedError](err)
	if ofBackup || ofDump || errors.Is(err, web.ErrURL) {
		return RequestError{err}
	}
	return err
}

// note tells the listener.
func (e *Engine) note(format string, args ...any) {
	if e.Listener != nil {
		e.Listener.Note(fmt.Sprintf(format, args...))
	}
}

// progress is the listener's, or discards.
func (e *Engine) progress() (w io.Writer, terminal bool) {
	if e.Listener == nil {
		return io.Discard, false
	}
	return e.Listener.Progress()
}
