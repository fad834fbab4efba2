package supervisor

import (
	"cmp"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// untorn decides for one start whether the server goes without its doublewrite buffer, and writes down why. It is
// asked at each, since a move takes an instance to another device. A --set of the buffer is the user's own.
func (s *Supervisor) untorn() bool {
	i := s.inst
	s.state.Doublewrite = instance.DoublewriteState{}
	if i.Spec.DeviceAtomic == "" {
		return false
	}
	f := server.UntornFacts{Asked: i.Spec.DeviceAtomic, Volume: i.Volume, PageSize: int64(cmp.Or(i.PageSize, server.DefaultPageSize))}
	if i.Volume == string(volume.Disk) {
		f = f.With(host.Host{}.Untorn(i.Dir, int(f.PageSize)))
	}
	without, why := i.Server.Untorn(f)
	s.state.Doublewrite = instance.DoublewriteState{Value: "on", Why: why}
	if without {
		s.state.Doublewrite.Value = "off"
	}
	for _, name := range []string{"innodb_doublewrite", "innodb_flush_method"} {
		if value, set := server.Setting(i.Spec.Set, name); set {
			s.state.Doublewrite.Why += "; --set " + name + "=" + value + " holds, whatever is said here"
		}
	}
	return without
}
