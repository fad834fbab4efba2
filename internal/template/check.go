package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnclonable says that clones of a database would not be as it, or would reach into it.
var ErrUnclonable = errors.New("it cannot be a template")

// Check returns an error, which is ErrUnclonable, if there is something in a database that clones
// of it cannot have.
func (s *Shape) Check() error {
	for _, t := range s.Tables {
		if err := t.checkPlace(); err != nil {
			return err
		}
		if t.Kind == Versioned && slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Period && c.Type == "bigint" }) {
			return fmt.Errorf("%w: table %s: its rows count by transactions (PERIOD FOR SYSTEM_TIME with BIGINT columns), whose numbers cannot be copied\n"+
				"hint: leave it out, or have it count by TIMESTAMP(6) columns", ErrUnclonable, t.Name)
		}
	}
	return s.checkNames()
}

// clumsy are the character sets in which a byte of a letter may look like a quote or a backslash.
var clumsy = []string{"big5", "cp932", "gb18030", "gbk", "sjis"}

// checkNames returns an error if an object names the database that it is in, in a way that clones
// cannot follow: it would read from the template there, or write into it.
func (s *Shape) checkNames() error {
	for _, o := range s.Objects {
		_, err := s.relocated(o, s.Name+"_")
		if err == nil && slices.Contains(clumsy, o.Client) && strings.Contains(s.fold(o.Create), s.Name+".") {
			err = fmt.Errorf("%w: it names the database %s in %s", ErrUnclonable, s.Name, o.Client)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w\nhint: leave the name of the database out there", strings.ToLower(o.Kind), o.Name, err)
		}
	}
	return nil
}
