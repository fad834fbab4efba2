package contract

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/client"
)

// TestMetrics finds everything that an instance measures in one answer of the real program.
func TestMetrics(t *testing.T) {
	c := instance(t)
	if _, err := c.PutTemplate(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	d, err := c.NewDatabase(t.Context(), client.DatabaseRequest{Template: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ResetDatabase(t.Context(), d.Name, client.RestoreCounters); err != nil {
		t.Fatal(err)
	}
	text, err := c.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`ramaria_reset_seconds_count{way="noop"} 1`, "ramaria_lease_seconds_count 1", "ramaria_pool_used_databases 1", "ramaria_pool_max_databases 64",
		"ramaria_pool_waiting_requests 0", `ramaria_template_leases{template="shop"} 1`, `ramaria_template_spare{template="shop"} `,
		`ramaria_instance_info{name="contract",`, "ramaria_volume_size_bytes ", "ramaria_volume_used_bytes ", "ramaria_volume_free_bytes ",
		"ramaria_server_resident_bytes ", "ramaria_branches_total 0", "ramaria_marks_total 0", "ramaria_rewinds_total 0",
	} {
		if !strings.Contains(string(text), "\n"+want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}
