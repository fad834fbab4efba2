package host

import (
	"path/filepath"
	"regexp"
	"strings"
)

// profileText is the head of a profile as written in /etc/apparmor.d or listed by
// the kernel.
type profileText struct {
	name   string
	attach string // glob of the programs that it is for; "" for none
	flags  string // comma-separated; from the kernel, the mode
	// file is where it is written, and local the file in local/ that it includes; "" where they are not known.
	file, local string
}

// profile is the profile as it bears on a program.
func (p profileText) profile(enforced bool) AppArmorProfile {
	return AppArmorProfile{Name: p.name, Enforced: enforced, File: p.file, Local: p.local}
}

var localInclude = regexp.MustCompile(`(?m)^\s*#?include\s+(?:if\s+exists\s+)?["<](local/[^>"]+)[">]`)

// localOf is the file below dir that the text of a profile includes for rules of the machine's own.
func localOf(dir, text string) string {
	m := localInclude.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return filepath.Join(dir, m[1])
}

// enforced reports whether the profile keeps a program from anything. Source of
// the modes: apparmor.d(5), "flags".
func (p profileText) enforced() bool {
	for f := range strings.SplitSeq(p.flags, ",") {
		switch strings.TrimSpace(f) {
		case "complain", "unconfined", "default_allow":
			return false
		}
	}
	return true
}

// ignoredProfileFile reports whether the AppArmor parser leaves a file out, as it
// does with the droppings of packages and editors.
func ignoredProfileFile(name string) bool {
	if strings.HasPrefix(name, ".") || name == "README" {
		return true
	}
	for _, suffix := range []string{".dpkg-new", ".dpkg-old", ".dpkg-dist", ".dpkg-bak", ".dpkg-remove",
		".pacsave", ".pacnew", ".rpmnew", ".rpmsave", ".orig", ".rej", "~"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

var (
	profileFlags = regexp.MustCompile(`(?:flags\s*=\s*)?\(([^)]*)\)`)
	profileXattr = regexp.MustCompile(`xattrs\s*=\s*\([^)]*\)`)
	assignment   = regexp.MustCompile(`^@\{\w+\}\s*\+?=`)
)

// parseProfiles finds the heads of the profiles in one file. A file of comments
// only, such as Debian's usr.sbin.mariadbd, holds none. Profiles inside profiles
// are left out: they attach to nothing that is started from outside.
func parseProfiles(text string) []profileText {
	var found []profileText
	depth, head := 0, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		line, _, _ = strings.Cut(line, " #")
		line = strings.TrimSpace(line)
		if depth == 0 {
			if startsProfile(line) {
				head = line
			} else if head != "" && line != "" {
				head += " " + line
			}
			if strings.HasSuffix(head, "{") {
				found = append(found, parseHead(strings.TrimSuffix(head, "{")))
				head, depth = "", 1
			}
			continue
		}
		depth += strings.Count(line, "{") - strings.Count(line, "}")
	}
	return found
}

func startsProfile(line string) bool {
	if assignment.MatchString(line) {
		return false
	}
	return strings.HasPrefix(line, "profile ") || strings.HasPrefix(line, "/") ||
		strings.HasPrefix(line, `"/`) || strings.HasPrefix(line, "@{")
}

// parseHead reads "profile NAME ATTACHMENT flags=(...)", where either the name
// (with the word profile) or the attachment may be missing.
func parseHead(head string) profileText {
	var p profileText
	head = profileXattr.ReplaceAllString(head, "")
	if m := profileFlags.FindStringSubmatch(head); m != nil {
		p.flags = m[1]
		head = profileFlags.ReplaceAllString(head, "")
	}
	words := strings.Fields(head)
	if len(words) > 0 && words[0] == "profile" {
		words = words[1:]
	}
	for i := range words {
		words[i] = strings.Trim(words[i], `"`)
	}
	if len(words) == 0 {
		return p
	}
	p.name = words[0]
	if last := words[len(words)-1]; strings.HasPrefix(last, "/") || strings.HasPrefix(last, "@{") {
		p.attach = last
	}
	return p
}

// knownVariables are the variables of tunables/ that stand in attachments of
// packaged profiles; others match nothing.
var knownVariables = strings.NewReplacer(
	"@{bin}", "/{,usr/}{,s}bin",
	"@{sbin}", "/{,usr/}{,s}bin",
)

// globMatch reports whether an AppArmor path pattern matches path. Syntax:
// apparmor.d(5), "Globbing (AARE)".
func globMatch(pattern, path string) bool {
	if pattern == "" {
		return false
	}
	pattern = knownVariables.Replace(pattern)
	if strings.Contains(pattern, "@{") {
		return false
	}
	if !strings.ContainsAny(pattern, `*?[{\`) {
		return pattern == path
	}
	var re strings.Builder
	re.WriteString("^")
	braces := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*' && i+1 < len(pattern) && pattern[i+1] == '*':
			re.WriteString(".*")
			i++
		case c == '*':
			re.WriteString("[^/]*")
		case c == '?':
			re.WriteString("[^/]")
		case c == '[' || c == ']':
			re.WriteByte(c)
		case c == '{':
			re.WriteString("(?:")
			braces++
		case c == '}':
			re.WriteString(")")
			braces--
		case c == ',' && braces > 0:
			re.WriteString("|")
		case c == '\\' && i+1 < len(pattern):
			i++
			re.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			re.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	compiled, err := regexp.Compile(re.String() + "$")
	return err == nil && compiled.MatchString(path)
}
