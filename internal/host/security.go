package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// profileHint is how many letters of a program's name a file of profiles must have
// to be parsed.
const profileHint = 5

// AppArmorProfile is one profile as it bears on one program.
type AppArmorProfile struct {
	Name     string
	Enforced bool // false: it only complains, or confines nothing
	// File is the file that has it, and Local the one in local/ from which it takes rules of this machine's own, as
	// absolute paths; "" where they are not known.
	File, Local string
}

// AppArmorEnabled reports whether the kernel applies AppArmor profiles.
func (h Host) AppArmorEnabled() bool {
	return strings.HasPrefix(h.line("/sys/module/apparmor/parameters/enabled"), "Y")
}

// AppArmorFor returns the profiles that the kernel would attach to the program at
// binary, a real path (no symbolic links), if this process started it. The list
// of loaded profiles can be read by root only; others have to believe the text
// under /etc/apparmor.d. It is empty for a process that is itself confined, as in
// a container: such a process hands its own profile on.
func (h Host) AppArmorFor(binary string) []AppArmorProfile {
	if !h.AppArmorEnabled() || h.confined() {
		return nil
	}
	written := h.writtenProfiles(binary)
	loaded, ok := h.loadedProfiles()
	var found []AppArmorProfile
	if !ok {
		for _, p := range written {
			found = append(found, p.profile(p.enforced()))
		}
		return found
	}
	attached := map[string]profileText{}
	for _, p := range written {
		attached[p.name] = p
	}
	for _, p := range loaded {
		// A profile without a name of its own is named after its attachment.
		w, is := attached[p.name]
		if is || strings.HasPrefix(p.name, "/") && globMatch(p.name, binary) {
			w.name = p.name
			found = append(found, w.profile(p.enforced()))
		}
	}
	return found
}

// confined reports whether this process runs under an enforced profile itself.
func (h Host) confined() bool {
	for _, p := range []string{"/proc/self/attr/apparmor/current", "/proc/self/attr/current"} {
		label := h.line(p)
		if label == "" {
			continue
		}
		return label != "unconfined" && !strings.HasSuffix(label, "(complain)") && !strings.HasSuffix(label, "(unconfined)")
	}
	return false
}

// loadedProfiles reads the kernel's own list, lines like "/usr/sbin/mysqld (enforce)";
// ok is false when it cannot be read.
func (h Host) loadedProfiles() (list []profileText, ok bool) {
	b, err := os.ReadFile(h.path("/sys/kernel/security/apparmor/profiles"))
	if err != nil {
		return nil, false
	}
	for line := range strings.Lines(string(b)) {
		name, mode, found := cutLast(strings.TrimSpace(line), " (")
		if found && !strings.Contains(name, "//") { // not a part of another profile
			list = append(list, profileText{name: name, flags: strings.TrimSuffix(mode, ")")})
		}
	}
	return list, true
}

// writtenProfiles returns the profiles under /etc/apparmor.d that are meant for binary.
func (h Host) writtenProfiles(binary string) []profileText {
	const dir = "/etc/apparmor.d"
	entries, err := os.ReadDir(h.path(dir))
	if err != nil {
		return nil
	}
	// Ubuntu has 120 profiles, and this is on the way of every start. A pattern for
	// the program that does not even begin like its name is not looked for.
	hint := []byte(filepath.Base(binary))
	hint = hint[:min(len(hint), profileHint)]
	var found []profileText
	for _, e := range entries {
		if e.IsDir() || ignoredProfileFile(e.Name()) || h.exists(filepath.Join(dir, "disable", e.Name())) {
			continue
		}
		b, err := os.ReadFile(h.path(filepath.Join(dir, e.Name())))
		if err != nil || !bytes.Contains(b, hint) {
			continue
		}
		for _, p := range parseProfiles(string(b)) {
			if !globMatch(p.attach, binary) {
				continue
			}
			if h.exists(filepath.Join(dir, "force-complain", e.Name())) {
				p.flags = "complain"
			}
			p.file, p.local = filepath.Join(dir, e.Name()), localOf(dir, string(b))
			found = append(found, p)
		}
	}
	return found
}

// text returns what a small file has, or "".
func (h Host) text(path string) string {
	b, _ := os.ReadFile(h.path(path))
	return string(b)
}

// line returns the first line of a small file, or "".
func (h Host) line(path string) string {
	first, _, _ := strings.Cut(strings.TrimRight(h.text(path), "\x00"), "\n")
	return strings.TrimSpace(first)
}

func (h Host) exists(path string) bool {
	_, err := os.Lstat(h.path(path)) // disable/ holds symbolic links, maybe dangling
	return err == nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
