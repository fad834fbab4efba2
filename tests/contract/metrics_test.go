package contract

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

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
		"ramaria_server_connections ", "ramaria_server_max_connections ", "ramaria_server_threads_running ", "ramaria_server_queries_total ",
		"ramaria_server_slow_queries_total ", "ramaria_server_commits_total ", "ramaria_server_rollbacks_total ", "ramaria_server_aborted_connects_total ",
		"ramaria_server_received_bytes_total ", "ramaria_server_sent_bytes_total ", "ramaria_server_uptime_seconds ",
	} {
		if !strings.Contains(string(text), "\n"+want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// TestDurableMetrics finds what is measured of a durable instance.
func TestDurableMetrics(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(service.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIACONTRACT")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "contract")
	url := "s3://backups/contract?endpoint=" + service.URL + "&region=us-east-1"
	c := instance(t, "--durable=2s", "--archive", url)
	if _, err := c.Backup(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants := []string{
		"ramaria_durable_interval_seconds 2", "ramaria_durable_lag_bytes 0", "ramaria_durable_lag_seconds 0", "ramaria_durable_stuck 0",
		"ramaria_durable_base_backups_total 1", "ramaria_durable_base_backups 2", "ramaria_durable_base_backup_timestamp_seconds 1.", "ramaria_durable_base_backup_failed 0",
		"ramaria_durable_since_base_bytes 0", "ramaria_durable_recovery_seconds ", "ramaria_durable_recover_within_seconds 30",
		"ramaria_durable_verified_timestamp_seconds 0", "ramaria_durable_verification_failed 0", "ramaria_durable_archive_free_bytes ", "ramaria_durable_archive_used_bytes ",
		`ramaria_durable_bucket_lag_seconds{bucket="` + url + `"} 0`, `ramaria_durable_bucket_failed{bucket="` + url + `"} 0`,
		"ramaria_durable_slowed 0", "ramaria_durable_slowed_seconds_total ", "ramaria_durable_ahead_bytes ",
		"ramaria_durable_fences_waiting 0", "ramaria_durable_fences_waiting_seconds 0",
		"ramaria_durable_breaches_total 0", `ramaria_instance_info{name="contract",`,
	}
	var text []byte
	missing := func() (list []string) {
		for _, want := range wants {
			if !strings.Contains(string(text), "\n"+want) {
				list = append(list, want)
			}
		}
		return list
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var err error
		if text, err = c.Metrics(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(missing()) == 0 {
			return
		}
	}
	t.Errorf("there is no %q in\n%s", missing(), text)
}
