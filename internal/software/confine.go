package software

import (
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/host"
)

// Confinement tells which security profile bears on the daemon at binary, in words
// for people, and whether it keeps the daemon out of our volumes. Both are empty
// for a daemon that nothing is said about. A packaged profile that is enforced
// knows only /var/lib/mysql, so it is taken to confine without reading its rules.
func Confinement(h host.Host, binary string) (profile string, confined bool) {
	real, err := filepath.EvalSymlinks(binary)
	if err != nil {
		real = binary
	}
	if root, err := filepath.EvalSymlinks(h.Root); err == nil && h.Root != "" {
		if inside, ok := strings.CutPrefix(real, strings.TrimSuffix(root, "/")+"/"); ok {
			real = "/" + inside
		}
	}
	for _, p := range h.AppArmorFor(real) {
		if p.Enforced && appArmorAllows(h, p) {
			profile = "AppArmor profile " + p.Name + " (with ramaria's places)"
			continue
		}
		if p.Enforced {
			return "AppArmor profile " + p.Name, true
		}
		profile = "AppArmor profile " + p.Name + " (not enforced)"
	}
	if seLinuxConfines(h, real) {
		if !seLinuxAllows(h) {
			return "SELinux type " + daemonType, true
		}
		profile = "SELinux type " + daemonType + " (with ramaria's places)"
	}
	return profile, false
}
