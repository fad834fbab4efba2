package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// MaxBody is the size, in bytes, of the largest request's body that is read.
const MaxBody = 64 << 10

const jsonType = "application/json"

// readBody reads the request's body, of at most limit bytes, whole. Only then does net/http notice that the
// caller goes away, and end the request's context.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large) && limit == 0:
		return nil, invalid("read request: %s %s takes no body", r.Method, r.URL.Path)
	case errors.As(err, &large):
		return nil, &refusal{http.StatusRequestEntityTooLarge, client.CodeTooLarge, fmt.Sprintf("read request: its body has more than %d bytes", limit)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, invalid("read request: its body did not arrive in time")
	case err != nil:
		return nil, invalid("read request: %w", err)
	}
	return b, nil
}

// checkMedia refuses a body that does not say that it is JSON.
func checkMedia(r *http.Request) error {
	given := r.Header.Get("Content-Type")
	if t, _, err := mime.ParseMediaType(given); err == nil && t == jsonType {
		return nil
	}
	return &refusal{
		http.StatusUnsupportedMediaType, client.CodeMediaType,
		fmt.Sprintf("read request: its Content-Type is %q\nhint: send JSON, and Content-Type: %s", given, jsonType),
	}
}

// decode reads a request's body, one JSON object with the fields of T and no other. Those
// without omitempty must be there.
func decode[T any](body []byte) (T, error) {
	var v T
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, invalid("read request: %s", fault(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return v, invalid("read request: something follows its JSON")
	}
	return v, checkFields[T](body)
}

// checkFields refuses what encoding/json lets pass and the contract does not: a field that
// is missing, null for a value, and a name in other letters, as NAME is for name.
func checkFields[T any](body []byte) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(body, &given); err != nil {
		return invalid("read request: %s", fault(err))
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		value, there := given[name]
		switch {
		case string(value) == "null":
			return invalid("read request: its field %q cannot be null", name)
		case !there && options == "":
			return invalid("read request: its %s is missing", name)
		}
		delete(given, name)
	}
	for name := range given {
		return invalid("read request: unknown field %q", name)
	}
	return nil
}

// fault says in the words of JSON what encoding/json says in those of Go.
func fault(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return "it has no body"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "its JSON ends too early"
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Sprintf("its body is a JSON %s, not an object", wrong.Value)
	case errors.As(err, &wrong):
		return fmt.Sprintf("its field %q cannot be a JSON %s", wrong.Field, wrong.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// checkName refuses a name or a label, in the field named what, that breaks the rules
// of names: both become files.
func checkName(what, value string) error {
	if value == "" {
		return invalid("read request: its %s is missing", what)
	}
	if err := instance.CheckName(value); err != nil {
		return invalid("use %s %q: it must have 1 to %d of a-z, 0-9, - and _, and begin with a letter or digit", what, value, instance.MaxName)
	}
	return nil
}

// invalid is an ErrInvalid with a text of its own.
func invalid(format string, args ...any) error { return As(ErrInvalid, fmt.Errorf(format, args...)) }
