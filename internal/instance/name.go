package instance

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// DefaultName is the instance that commands mean when none is named.
const DefaultName = "main"

// MaxName is the length, in bytes, of the longest name: it is part of the path of
// Unix sockets, which are short.
const MaxName = 40

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// ErrName says that a name cannot be an instance's.
var ErrName = errors.New("invalid name")

// CheckName refuses names that cannot be a directory or would surprise, as ErrName.
func CheckName(name string) error {
	if len(name) > MaxName || !validName.MatchString(name) {
		if strings.Contains(name, ".sql") {
			return fmt.Errorf("use instance name %q: %w: it is that of a dump\nhint: ramaria up --from %s", name, ErrName, name)
		}
		return fmt.Errorf("use instance name %q: %w: it has 1 to %d of a-z, 0-9, - and _, and begins with a letter or digit\nhint: ramaria up my-shop", name, ErrName, MaxName)
	}
	return nil
}

// PassingPrefix begins the names of the instances that belong to a `ramaria run`.
const PassingPrefix = "run-"

// CheckNew is CheckName for the name of an instance that people make.
func CheckNew(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if strings.HasPrefix(name, PassingPrefix) {
		return fmt.Errorf("use instance name %q: %w: names that begin with %s belong to `ramaria run`\nhint: ramaria up my-shop", name, ErrName, PassingPrefix)
	}
	return nil
}

// CheckLabel refuses labels of marks that cannot be a directory or would surprise, as
// ErrName.
func CheckLabel(label string) error {
	if CheckName(label) != nil {
		return fmt.Errorf("use label %q: %w: it has 1 to %d of a-z, 0-9, - and _, and begins with a letter or digit\nhint: ramaria mark NAME before-migration", label, ErrName, MaxName)
	}
	return nil
}
