package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDenials(t *testing.T) {
	const (
		apparmor = `type=AVC msg=audit(1.1:1): apparmor="DENIED" operation="open" class="file" profile="mariadbd" name="/srv/x" pid=1 comm="mariadbd" requested_mask="wc"`
		selinux  = `type=AVC msg=audit(1.1:2): avc:  denied  { write } for  pid=2 comm="mysqld" name="x" scontext=system_u:system_r:mysqld_t:s0`
		allowed  = `type=AVC msg=audit(1.1:3): apparmor="ALLOWED" operation="open" profile="mariadbd" comm="mariadbd"`
		other    = `type=AVC msg=audit(1.1:4): apparmor="DENIED" operation="open" profile="cupsd" comm="cupsd"`
	)
	h := plant(t, map[string]string{"var/log/audit/audit.log": strings.Join([]string{apparmor, allowed, other, selinux, ""}, "\n")})
	got := h.Denials(t.Context(), []string{"mariadbd", "mysqld"})
	if diff := cmp.Diff([]string{apparmor, selinux}, got); diff != "" {
		t.Error(diff)
	}
	long := strings.Repeat("x", auditTail) + apparmor + "\n" + selinux + "\n" // the first line is not whole
	if diff := cmp.Diff([]string{selinux}, plant(t, map[string]string{"var/log/audit/audit.log": long}).Denials(t.Context(), []string{"mariadbd", "mysqld"})); diff != "" {
		t.Error(diff)
	}
	if got := plant(t, nil).Denials(t.Context(), []string{"mariadbd"}); got != nil {
		t.Errorf("without a log there is %q", got)
	}
}
