package client

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNoServer says that no instance answered: its socket does not exist, nothing listens on it,
// or RAMARIA_API does not name it.
var ErrNoServer = errors.New("no instance answers")

// The codes of errors. New ones may come.
const (
	CodeInvalid      = "invalid"      // the request is invalid
	CodeNotFound     = "not_found"    // no such mark, template or database, or no such path
	CodeMethod       = "bad_method"   // the path has no such method
	CodeExists       = "exists"       // the name or label is taken
	CodeChanged      = "changed"      // the template was changed since it was made one; or the database cannot have a savepoint, or is kept
	CodeLost         = "lost"         // the database has no savepoint, or could not be rolled back to it: it was reset to its template
	CodeDurable      = "durable"      // the instance cannot do that: it is durable (--durable), a replica, none, or has some
	CodeNoLog        = "no_log"       // the instance keeps no binary log (--log off), without which nothing can be cloned or reset
	CodeOther        = "other"        // the instance is not the one that is wanted
	CodeBusy         = "busy"         // something else is going on; the same request can succeed later
	CodeFull         = "full"         // as many databases are in use as the pool allows
	CodeUnauthorized = "unauthorized" // a client on another machine that does not have the token
	CodeForbidden    = "forbidden"    // clients on other machines may not do that
	CodeTooLarge     = "too_large"    // the request's body is too large
	CodeMediaType    = "bad_type"     // the request's body is not JSON
	CodeNoRoom       = "no_room"      // the volume or the memory cannot hold it
	CodeUnavailable  = "unavailable"  // the server does not run, or the instance is ending
	CodeInternal     = "internal"     // everything else
)

// Error is the answer of an instance that refused a request, or failed to do it.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is for programs: one of the Code constants.
	Code string
	// Message says what failed and why.
	Message string
	// Hint is what to do about it, normally a command; it may be empty.
	Hint string
}

// Error returns the message, and the hint on a line of its own.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "\nhint: " + e.Hint
}

// ErrorBody is the JSON of every answer that is not a success.
type ErrorBody struct {
	Error ErrorDetail `json:"error"`
}

// ErrorDetail says what went wrong; see Error.
type ErrorDetail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// errorOf makes an *Error of an answer that is not a success. One without the body of
// an API's error is CodeInternal: something else listens there.
func errorOf(a answer) *Error {
	var b ErrorBody
	if err := json.Unmarshal(a.body, &b); err != nil || b.Error.Code == "" {
		return &Error{
			Status: a.status, Code: CodeInternal,
			Message: fmt.Sprintf("ask the instance: %s, and no reason given: %q", a.reason, excerpt(a.body)),
		}
	}
	return &Error{Status: a.status, Code: b.Error.Code, Message: b.Error.Message, Hint: b.Error.Hint}
}
