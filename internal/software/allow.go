package software

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrCannotAllow says that what confines a server cannot be taught.
var ErrCannotAllow = errors.New("its rules cannot be extended")

// AllowSubject is what keeps a server of this system out of instances, or did, and can be taught.
type AllowSubject interface {
	// Describe returns the path of the server, what confines it, and the name of what has the rules of Allow.
	Describe() (daemon, profile, file string)
	// Allow lets the server reach all below dirs, in which * stands for any name, at once. Directories of before stay. It
	// reports whether there was anything to add.
	Allow(ctx context.Context, dirs []string) (changed bool, err error)
	// Disallow takes away what Allow has added, for all directories. It reports whether there was anything.
	Disallow(ctx context.Context) (changed bool, err error)
}

// Confined returns what confines the daemons of this system and can be taught, and what else keeps some of them out, in
// words.
func (f *Finder) Confined() (subjects []AllowSubject, others []string) {
	for path, real := range f.daemons() {
		for _, p := range f.Host.AppArmorFor(real) {
			switch {
			case !p.Enforced:
			case p.Local == "":
				others = append(others, fmt.Sprintf("AppArmor profile %s includes nothing of local/", p.Name))
			default:
				subjects = append(subjects, appArmorRules{f.Host, path, p})
			}
		}
		if seLinuxConfines(f.Host, real) {
			subjects = append(subjects, seLinuxModule{f.Host, path})
		}
	}
	return subjects, others
}

// readLocal returns the text of a file, nil if there is none.
func readLocal(path string) (*string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // none
	}
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	return new(string(b)), nil
}

// writeLocal puts a file in place as a whole, or removes it.
func writeLocal(path string, text *string) error {
	if text == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove rules: %w", err)
		}
		return nil
	}
	// The parser passes over names that begin with a dot.
	tmp := filepath.Join(filepath.Dir(path), ".ramaria-"+filepath.Base(path))
	const readable = 0o644
	err := os.WriteFile(tmp, []byte(*text), readable)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write rules: %w", err), os.Remove(tmp))
	}
	return nil
}
