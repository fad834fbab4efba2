package fit

import (
	"fmt"
	"slices"
	"strings"
)

// Options say what of a dump is loaded otherwise than it stands there. The zero value changes nothing.
type Options struct {
	// Collations is Auto, or pairs NAME=OTHER with commas between them: what to have for a collation that the server does not
	// know. "" has the server refuse it.
	Collations string `json:"collations,omitempty"`
	// Definers is Keep, the same as "", or Mine: views, routines, triggers and events become those of the account that the
	// application has.
	Definers string `json:"definers,omitempty"`
	// Accounts is Keep, the same as "", or Skip: what makes, changes or gives rights to accounts is left out, and so is the
	// database mysql.
	Accounts string `json:"accounts,omitempty"`
	// Fix leaves out the values of generated columns, and more that the server has refused and that makes no difference.
	Fix bool `json:"fix,omitempty"`
}

// The values of options.
const (
	Auto = "auto"
	Keep = "keep"
	Mine = "mine"
	Skip = "skip"
)

// Check returns an error for options that are not understood; it ends in a hint.
func (o Options) Check() error {
	if _, err := o.collations(); err != nil {
		return err
	}
	if !slices.Contains([]string{"", Keep, Mine}, o.Definers) {
		return fmt.Errorf("--definers %s: it is keep or mine\nhint: --definers mine makes what the dump brings the application's", o.Definers)
	}
	if !slices.Contains([]string{"", Keep, Skip}, o.Accounts) {
		return fmt.Errorf("--accounts %s: it is keep or skip\nhint: --accounts skip leaves accounts and their rights out", o.Accounts)
	}
	return nil
}

// collations reads the map; keys are in lower case.
func (o Options) collations() (map[string]string, error) {
	pairs := map[string]string{}
	if o.Collations == "" || o.Collations == Auto {
		return pairs, nil
	}
	for pair := range strings.SplitSeq(o.Collations, ",") {
		from, to, ok := strings.Cut(pair, "=")
		if from, to = strings.TrimSpace(from), strings.TrimSpace(to); !ok || !isCollation(from) || !isCollation(to) {
			return nil, fmt.Errorf("--collations %s: %q is no pair of collations\nhint: --collations auto, or --collations utf8mb4_0900_ai_ci=utf8mb4_unicode_520_ci", o.Collations, pair)
		}
		pairs[strings.ToLower(from)] = to
	}
	return pairs, nil
}

// isCollation says that a text may be the name of one.
func isCollation(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
