package api

import (
	"errors"
	"net/http"
	"strings"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Errors that those of an Instance match, each with an HTTP status and a code of its own. An
// error that wraps one reads `make mark "x": already exists`; As keeps a text that
// has nothing to add.
var (
	ErrNotFound    = errors.New("not found")               // 404 not_found
	ErrExists      = errors.New("already exists")          // 409 exists
	ErrChanged     = errors.New("it was changed")          // 409 changed
	ErrLost        = errors.New("the savepoint is lost")   // 409 lost
	ErrNoLog       = errors.New("no binary log")           // 409 no_log
	ErrDurable     = errors.New("the instance is durable") // 409 durable
	ErrInvalid     = errors.New("invalid request")         // 400 invalid
	ErrNoRoom      = errors.New("no room")                 // 507 no_room; *volume.NoRoomError too
	ErrBusy        = errors.New("the instance is busy")    // 409 busy
	ErrFull        = errors.New("the pool is full")        // 503 full
	ErrUnavailable = errors.New("the server does not run") // 503 unavailable
	errOther       = errors.New("another instance")        // 409 other
	errInternal    = errors.New("internal error")          // 500 internal
)

// kinds are the answers to errors, the first match first.
var kinds = []struct {
	err    error
	status int
	code   string
}{
	{ErrNotFound, http.StatusNotFound, client.CodeNotFound},
	{ErrExists, http.StatusConflict, client.CodeExists},
	{ErrChanged, http.StatusConflict, client.CodeChanged},
	{ErrLost, http.StatusConflict, client.CodeLost},
	{ErrNoLog, http.StatusConflict, client.CodeNoLog},
	{ErrDurable, http.StatusConflict, client.CodeDurable},
	{errOther, http.StatusConflict, client.CodeOther},
	{ErrInvalid, http.StatusBadRequest, client.CodeInvalid},
	{instance.ErrName, http.StatusBadRequest, client.CodeInvalid},
	{ErrNoRoom, http.StatusInsufficientStorage, client.CodeNoRoom},
	{ErrBusy, http.StatusConflict, client.CodeBusy},
	{ErrFull, http.StatusServiceUnavailable, client.CodeFull},
	{ErrUnavailable, http.StatusServiceUnavailable, client.CodeUnavailable},
}

// As makes err match kind, one of the Err values, and leaves its text alone.
func As(kind, err error) error { return &asError{kind, err} }

type asError struct{ kind, err error }

func (e *asError) Error() string   { return e.err.Error() }
func (e *asError) Unwrap() []error { return []error{e.kind, e.err} }

// refusal is the answer to a request that never reached the Instance, or to an error
// of its.
type refusal struct {
	status int
	code   string
	text   string
}

func (e *refusal) Error() string { return e.text }

// refusalOf tells how to answer an error.
func refusalOf(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return &refusal{k.status, k.code, err.Error()}
		}
	}
	var room *volume.NoRoomError
	if errors.As(err, &room) {
		return &refusal{http.StatusInsufficientStorage, client.CodeNoRoom, err.Error()}
	}
	return &refusal{http.StatusInternalServerError, client.CodeInternal, err.Error()}
}

// body is the refusal's JSON.
func (e *refusal) body() client.ErrorBody {
	message, hint, _ := strings.Cut(e.text, "\nhint: ")
	if message == "" {
		message = errInternal.Error() // an error without a text: better than an empty message
	}
	return client.ErrorBody{Error: client.ErrorDetail{Code: e.code, Message: message, Hint: hint}}
}
