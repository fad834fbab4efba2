// Package engine has the use cases of Ramaria: what the command line, and whatever else
// serves users, ask for. It takes requests as values and returns results as values: it
// knows no flags, prints nothing, and ends no process.
package engine

import (
	"fmt"
	"io"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Engine serves one user's home. UID, and Home where the usual places are not meant, are set
// before Open, which sets what stands below them.
type Engine struct {
	// UID is the user's, and Home the directory below which everything lies, "" for the usual
	// places.
	UID  int
	Home string
	// Host is the machine; its zero value is this one.
	Host host.Host
	// Listener hears what the use cases tell while they work; nil hears nothing.
	Listener Listener

	Places   host.Places
	Account  server.Account // that servers run under
	Memo     memo.Store
	Registry instance.Registry
	Owner    volume.Owner
}

// Listener hears what a use case tells while it works. Use cases that run at once may call
// it at once.
type Listener interface {
	// Note takes a line that the user should read, which may be followed by one that begins
	// with "hint: ".
	Note(text string)
	// Progress is where steps that take long show how far they are, and whether that is a
	// terminal, on which a bar can be drawn.
	Progress() (w io.Writer, terminal bool)
}

// RequestError is a request that is invalid as it stands, whatever there is.
type RequestError struct{ error }

func (e RequestError) Unwrap() error { return e.error }

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
