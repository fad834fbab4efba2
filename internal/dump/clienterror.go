package dump

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// ClientError is what the client said of a statement that failed.
type ClientError struct {
	// Line is the statement's line as the client counts; see Statement.ClientLine.
	// 0 when the client named none.
	Line int
	// Code and State are the server's or client library's error number and its
	// SQLSTATE; 0 and empty when the client itself complained.
	Code  int
	State string
	Msg   string
}

// clientErrorLine is the line of put_error and put_info in the client's source.
// Clients of 2024 and later print the statement before it, between dashes.
var clientErrorLine = regexp.MustCompile(`(?m)^ERROR(?: (\d+))?(?: \(([0-9A-Z]{5})\))?(?: at line (\d+))?(?: in file: '[^']*')?: (.*)$`)

// ParseClientError finds the error in what the mariadb client wrote to its
// standard error. It takes the last one, since statements that are echoed before
// it may hold anything.
func ParseClientError(stderr string) (ClientError, bool) {
	all := clientErrorLine.FindAllStringSubmatchIndex(stderr, -1)
	if len(all) == 0 {
		return ClientError{}, false
	}
	m := all[len(all)-1]
	group := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return stderr[m[2*i]:m[2*i+1]]
	}
	e := ClientError{State: group(2)}
	e.Code, _ = strconv.Atoi(group(1)) // empty: 0
	e.Line, _ = strconv.Atoi(group(3))
	// A message may have several lines: server messages quote the statement.
	e.Msg = strings.TrimSpace(stderr[m[8]:])
	return e, true
}

// maxShown is how many statements StatementAt puts together when they share a line.
const maxShown = 10

// StatementAt returns the beginning, at most headSize bytes, of the statement
// that the client means by line: the one that starts there. Where several
// statements share the line it returns them all, a line each, up to maxShown. A
// line in the middle of a statement gives that statement.
func StatementAt(path string, line int) (string, error) {
	r, err := Open(path)
	if err != nil {
		return "", err
	}
	text, err := statementAt(r, path, line)
	if err != nil {
		err = fmt.Errorf("find statement at line %d: %w", line, err)
	}
	return text, errors.Join(err, r.Close())
}

func statementAt(r io.Reader, file string, line int) (string, error) {
	f := newFeed(r, file, 0, func([]byte) error { return nil })
	covering := ""
	var shared []string
	for {
		err := f.next()
		open := err != nil && !errors.Is(err, io.EOF) && f.lex.within
		if err == nil || open {
			if f.clientLine > line {
				break
			}
			if f.clientLine == line && len(shared) < maxShown {
				shared = append(shared, shown(f))
			} else if f.line <= line && (open || line <= f.endLine) {
				covering = shown(f)
			}
		}
		if err != nil {
			if len(shared) == 0 && covering == "" && !errors.Is(err, io.EOF) {
				return "", err
			}
			break
		}
	}
	switch {
	case len(shared) > 0:
		return strings.Join(shared, "\n"), nil
	case covering != "":
		return covering, nil
	}
	return "", &Error{File: file, Line: line, Msg: "no statement is in this line"}
}

// shown returns the beginning of the present statement as valid UTF-8.
func shown(f *feed) string {
	return strings.ToValidUTF8(strings.TrimSpace(string(f.beginning())), "\uFFFD")
}
