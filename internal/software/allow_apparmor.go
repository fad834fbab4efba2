package software

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/host"
)

// The rules for AppArmor stand between these lines.
const (
	allowBegin = "# Ramaria: begin. To take this away: ramaria server disallow"
	allowEnd   = "# Ramaria: end"
	// allowNew says that there was no file before.
	allowNew = "# Ramaria: this file was not there before"
)

// appArmorRules are those of a profile, in the file of local/ that it includes.
type appArmorRules struct {
	host    host.Host
	daemon  string
	profile host.AppArmorProfile
}

var _ AllowSubject = appArmorRules{}

// Describe tells whose rules these are.
func (s appArmorRules) Describe() (daemon, profile, file string) {
	return s.daemon, "AppArmor profile " + s.profile.Name, s.profile.Local
}

// appArmorAllows reports whether Allow has taught a profile.
func appArmorAllows(h host.Host, p host.AppArmorProfile) bool {
	if p.Local == "" {
		return false
	}
	text, err := os.ReadFile(filepath.Join(h.Root, p.Local))
	return err == nil && strings.Contains(string(text), allowBegin)
}

// Allow adds rules to what a profile takes from local/, by which its servers reach all below dirs, and has the kernel
// load it. Directories of before stay. It reports whether there was anything to add.
func (s appArmorRules) Allow(ctx context.Context, dirs []string) (changed bool, err error) {
	path := filepath.Join(s.host.Root, s.profile.Local)
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
	return true, s.replace(ctx, path, before, new(rest+rules(all)))
}

// Disallow takes the rules of Allow away: the file is as it was. It reports whether there were any.
func (s appArmorRules) Disallow(ctx context.Context) (changed bool, err error) {
	path := filepath.Join(s.host.Root, s.profile.Local)
	before, err := readLocal(path)
	if err != nil || before == nil || !strings.Contains(*before, allowBegin) {
		return false, err
	}
	rest, _ := cutRules(*before)
	if rest == allowNew+"\n" {
		return true, s.replace(ctx, path, before, nil)
	}
	return true, s.replace(ctx, path, before, &rest)
}

// replace writes the file, or removes it where text is nil, and has the kernel load the profile. If it does not take it,
// the file is as before.
func (s appArmorRules) replace(ctx context.Context, path string, before, text *string) error {
	if err := writeLocal(path, text); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "apparmor_parser", "--replace", filepath.Join(s.host.Root, s.profile.File)).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("load AppArmor profile %s: %w: %s\nhint: apparmor_parser is of the package apparmor", s.profile.Name, err, strings.TrimSpace(string(out)))
		return errors.Join(err, writeLocal(path, before))
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
