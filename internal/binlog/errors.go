package binlog

import (
	"errors"
	"fmt"
)

// ErrNotFull says that a rows event has other columns before than after: it was written under
// another binlog_row_image than FULL, and cannot be inverted.
var ErrNotFull = errors.New("not a full row image")

// GoneError says that a log can no longer be followed without perhaps missing something:
// the file was removed (PURGE, RESET MASTER) or is shorter than what was read already.
type GoneError struct {
	Pos    Position
	Reason string
	Err    error
}

func (e *GoneError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("follow binary log at %s: %s: %v", e.Pos, e.Reason, e.Err)
	}
	return fmt.Sprintf("follow binary log at %s: %s", e.Pos, e.Reason)
}

func (e *GoneError) Unwrap() error { return e.Err }

// CorruptError says that bytes of a log are not what they must be.
type CorruptError struct {
	// Pos is zero where bytes were parsed that came from no file.
	Pos Position
	// What names the thing that is wrong ("TABLE_MAP event").
	What   string
	Reason string
}

func (e *CorruptError) Error() string {
	if e.Pos.File == "" {
		return fmt.Sprintf("parse %s: %s", e.What, e.Reason)
	}
	return fmt.Sprintf("parse %s at %s: %s", e.What, e.Pos, e.Reason)
}

// NotUnderstoodError says that a log holds an event after which this package can read no more: what
// follows is encrypted.
type NotUnderstoodError struct {
	Pos  Position
	Type EventType
}

func (e *NotUnderstoodError) Error() string {
	return fmt.Sprintf("read binary log at %s: not understood: %s event", e.Pos, e.Type)
}

// UnknownColumnError says that a table has a column whose length the log does not tell.
type UnknownColumnError struct {
	Table string
	// Column counts from 0.
	Column int
	Type   byte
}

func (e *UnknownColumnError) Error() string {
	return fmt.Sprintf("split rows of %s: column %d has type %d, whose length is not known", e.Table, e.Column, e.Type)
}

// TooLargeError says that one row does not fit a statement of the size asked for.
type TooLargeError struct {
	Table       string
	Bytes, Most int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("invert row of %s: its statement has %d bytes, more than %d", e.Table, e.Bytes, e.Most)
}

func corrupt(what, format string, args ...any) error {
	return &CorruptError{What: what, Reason: fmt.Sprintf(format, args...)}
}

// located adds the place to an error that was made without one.
func located(err error, pos Position) error {
	var c *CorruptError
	if errors.As(err, &c) && c.Pos.File == "" {
		c.Pos = pos
	}
	return err
}
