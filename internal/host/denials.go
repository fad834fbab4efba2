package host

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// auditLog is where auditd keeps what the kernel denied; without auditd the kernel's log has it.
	auditLog = "/var/log/audit/audit.log"
	// auditTail is how much of its end is read, in bytes.
	auditTail = 1 << 20
	// logPatience is how long reading the kernel's log may take.
	logPatience = 5 * time.Second
)

var (
	denied    = regexp.MustCompile(`apparmor="DENIED"|avc: +denied`)
	deniedCom = regexp.MustCompile(`comm="([^"]+)"`)
)

// Denials returns what AppArmor and SELinux have denied to programs of these names, as the audit log or the log of the
// kernel since its start has it, the oldest first. Who may not read those gets nothing.
func (h Host) Denials(ctx context.Context, programs []string) []string {
	text := tailOf(h.path(auditLog))
	if text == nil && h.Root == "" {
		ctx, cancel := context.WithTimeout(ctx, logPatience)
		defer cancel()
		text, _ = exec.CommandContext(ctx, "dmesg").Output() // an ordinary user may not everywhere
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		com := deniedCom.FindStringSubmatch(line)
		if denied.MatchString(line) && com != nil && slices.Contains(programs, com[1]) {
			out = append(out, line)
		}
	}
	return out
}

// tailOf returns the end of a log, from the beginning of a line; nil if it cannot be read.
func tailOf(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(0, fi.Size()-auditTail)
	b := make([]byte, fi.Size()-from)
	n, _ := f.ReadAt(b, from) // a log that was cut meanwhile has less
	b = b[:n]
	if from > 0 {
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	return b
}
