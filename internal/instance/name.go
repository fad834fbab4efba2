package instance

import (
	"errors"
	"fmt"
	"regexp"
)

// DefaultName is the instance that commands mean when none is named.
const DefaultName = "main"

// MaxName is the length, in bytes, of the longest name: it is part of the path of
// Unix sockets, which are short.
const MaxName = 40

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// ErrName says that a name cannot be an instance's.
var ErrName = errors.New("not a name")

// CheckName refuses names that cannot be a directory or would surprise, as ErrName.
func CheckName(name string) error {
	if len(name) > MaxName || !validName.MatchString(name) {
		return fmt.Errorf("use instance name %q: %w: it has 1 to %d of a-z, 0-9, - and _, and begins with a letter or digit\nhint: ramaria up my-shop", name, ErrName, MaxName)
	}
	return nil
}
