package supervisor

import (
	"fmt"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// countOOM notes what the kernel has killed for want of memory so far, so that the end of a server
// can be told from that of others. The server may be the last one counted, and its end not seen
// yet; so the count before that is kept, too.
func (s *Supervisor) countOOM() {
	o, err := host.Host{}.OOM()
	if err != nil {
		o = host.OOM{Kills: -1} // then it is not told
	}
	s.oom, s.oomBefore = o, s.oom
}

// oomReason says that the kernel killed the server for want of memory, and what to do; "" if it
// did not. err is how the server ended.
func (s *Supervisor) oomReason(err error) string {
	if server.Signal(err) != syscall.SIGKILL {
		return ""
	}
	now, herr := host.Host{}.OOM()
	if herr != nil {
		return ""
	}
	killed, by := now.Since(s.oomBefore)
	if !killed {
		return ""
	}
	cause, raise := "the machine had no memory left", "give the machine more memory"
	if by.Path != "" {
		cause = fmt.Sprintf("control group %s was at its memory limit of %s", by.Path, volume.FormatBytes(by.Limit))
		raise = "raise the limit (docker run --memory, systemd MemoryMax)"
	}
	took := ""
	if u, err := s.volume.Usage(); err == nil && u.Memory > 0 {
		took = fmt.Sprintf("; the volume takes %s of it", volume.FormatBytes(u.Memory))
	}
	return fmt.Sprintf("the kernel killed the server: %s%s, and the data is still there\nhint: %s, or make room (%s); then ramaria up %s",
		cause, took, raise, strings.Join(lessUse(s.volume), ", "), s.inst.Name)
}
