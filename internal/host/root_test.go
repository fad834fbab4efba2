package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRootLacks(t *testing.T) {
	const everything = "         0          0 4294967295\n"
	for _, c := range []struct {
		name, caps, ids string
		want            []string
	}{
		{"root", "000001ffffffffff", everything, nil},
		{"docker's default", "00000000a80425fb", everything, nil},
		{"nothing", "0000000000000000", everything, []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"}},
		{"no chown", "00000000a80425fa", everything, []string{"CAP_CHOWN"}},
		{"unshare -r", "000001ffffffffff", "0 1000 1\n", []string{"uid 60893 in the user namespace", "gid 60893 in the user namespace"}},
		{"rootless podman", "00000000800405fb", "0 1000 1\n1 100000 65536\n", nil},
	} {
		h := tree(t, map[string]string{"proc/self/status": "Name:\tx\nCapEff:\t" + c.caps + "\n", "proc/self/uid_map": c.ids, "proc/self/gid_map": c.ids})
		if diff := cmp.Diff(c.want, h.RootLacks()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if got := (Host{Root: t.TempDir()}).RootLacks(); got != nil {
		t.Errorf("without /proc: %v", got)
	}
}
