package software

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/host"
)

// The rules that Allow writes stand between these lines.
const (
	allowBegin = "# Ramaria: begin. To take this away: ramaria server disallow"
	allowEnd   = "# Ramaria: end"
	// allowNew says that there was no file before.
	allowNew = "# Ramaria: this file was not there before"
)

// ErrCannotAllow says that what confines a server cannot be taught.
var ErrCannotAllow = errors.New("its rules cannot be extended")

// AllowSubject is a profile that keeps a server out of instances, or did.
type AllowSubject struct {
	Daemon  string
	Profile host.AppArmorProfile
}

// Confined returns the enforced profiles of the daemons of this system that Allow can teach, and what else keeps some
// of them out, in words.
func (f *Finder) Confined() (subjects []AllowSubject, others []string) {
	for path, real := range f.daemons() {
		for _, p := range f.Host.AppArmorFor(real) {
			switch {
			case !p.Enforced:
			case p.Local == "":
				others = append(others, fmt.Sprintf("AppArmor profile %s includes nothing of local/", p.Name))
			default:
				subjects = append(subjects, AllowSubject{Daemon: path, Profile: p})
			}
		}
		if f.Host.SELinuxEnforcing() && f.Host.SELinuxType(real) == daemonType {
			others = append(others, "SELinux type "+daemonType+" confines "+path)
		}
	}
	return subjects, others
}

// allowed reports whether Allow has taught a profile.
func allowed(h host.Host, p host.AppArmorProfile) bool {
	if p.Local == "" {
		return false
	}
	text, err := os.ReadFile(filepath.Join(h.Root, p.Local))
	return err == nil && strings.Contains(string(text), allowBegin)
}

// Allow adds rules to what a profile takes from local/, by which its servers reach all below dirs, and has the kernel
// load it. Directories of before stay. It reports whether there was anything to add.
func (s AllowSubject) Allow(ctx context.Context, h host.Host, dirs []string) (changed bool, err error) {
	path := filepath.Join(h.Root, s.Profile.Local)
	before, err := readLocal(path)
	if err != nil {
		return false, err
	}
	rest, there := allowNew+"\n", []string(nil)
	if before != nil {
		rest, there = cutRules(*before)
	}
	all := slices.Concat(there, dirs)
	slices.Sort(all)
	all = slices.Compact(all)
	if slices.Equal(all, there) {
		return false, nil
	}
	return true, s.replace(ctx, h, path, before, new(rest+rules(all)))
}

// Disallow takes the rules of Allow away: the file is as it was. It reports whether there were any.
func (s AllowSubject) Disallow(ctx context.Context, h host.Host) (changed bool, err error) {
	path := filepath.Join(h.Root, s.Profile.Local)
	before, err := readLocal(path)
	if err != nil || before == nil || !strings.Contains(*before, allowBegin) {
		return false, err
	}
	rest, _ := cutRules(*before)
	if rest == allowNew+"\n" {
		return true, s.replace(ctx, h, path, before, nil)
	}
	return true, s.replace(ctx, h, path, before, &rest)
}

// replace writes the file, or removes it where text is nil, and has the kernel load the profile. If it does not take it,
// the file is as before.
func (s AllowSubject) replace(ctx context.Context, h host.Host, path string, before, text *string) error {
	if err := writeLocal(path, text); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "apparmor_parser", "--replace", filepath.Join(h.Root, s.Profile.File)).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("load AppArmor profile %s: %w: %s\nhint: apparmor_parser is of the package apparmor", s.Profile.Name, err, strings.TrimSpace(string(out)))
		return errors.Join(err, writeLocal(path, before))
	}
	return nil
}

// readLocal returns the text of a file, nil if there is none.
func readLocal(path string) (*string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // none
	}
	if err != nil {
		return nil, fmt.Errorf("read AppArmor rules: %w", err)
	}
	return new(string(b)), nil
}

// writeLocal puts a file in place as a whole, or removes it.
func writeLocal(path string, text *string) error {
	if text == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove AppArmor rules: %w", err)
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
		return errors.Join(fmt.Errorf("write AppArmor rules: %w", err), os.Remove(tmp))
	}
	return nil
}

// rules are what stands in local/ for directories, on lines of their own: apparmor.d(5). A server reads, writes, maps nothing executable,
// locks and links below them.
func rules(dirs []string) string {
	var b strings.Builder
	b.WriteString("\n" + allowBegin + "\n")
	for _, dir := range dirs {
		fmt.Fprintf(&b, "%s r,\n%s rwkl,\n", quoteRule(dir+"/"), quoteRule(dir+"/**"))
	}
	b.WriteString(allowEnd + "\n")
	return b.String()
}

// quoteRule writes a path so that nothing in it but * at its end is a pattern. Stars of a directory are meant.
func quoteRule(path string) string {
	path = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, "?", `\?`, "^", `\^`, "@", `\@`).Replace(path)
	return `"` + path + `"`
}

// cutRules takes what rules wrote out of a text, and returns the directories that it was for.
func cutRules(text string) (rest string, dirs []string) {
	before, ours, found := strings.Cut(text, "\n"+allowBegin+"\n")
	if !found {
		return text, nil
	}
	ours, after, _ := strings.Cut(ours, allowEnd+"\n")
	for line := range strings.Lines(ours) {
		if dir, ok := strings.CutSuffix(strings.TrimSpace(line), `/" r,`); ok {
			dirs = append(dirs, unquoteRule(strings.TrimPrefix(dir, `"`)))
		}
	}
	return before + after, dirs
}

func unquoteRule(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+1 < len(path) {
			i++
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
