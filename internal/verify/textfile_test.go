package verify

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMetrics(t *testing.T) {
	at := time.Unix(1764470000, 0)
	r := &Report{Status: Good, Verified: at.Add(time.Hour), RestoreSeconds: 12.5, CheckSeconds: 1.5, LastChange: &at, Rows: 1000, Tables: make([]Table, 3)}
	want := `# HELP ramaria_verify_success Whether the last verification found the backup good.
# TYPE ramaria_verify_success gauge
ramaria_verify_success{backup="shop"} 1
# HELP ramaria_verify_restorable Whether the last verification could restore the backup.
# TYPE ramaria_verify_restorable gauge
ramaria_verify_restorable{backup="shop"} 1
# HELP ramaria_verify_timestamp_seconds When the last verification began.
# TYPE ramaria_verify_timestamp_seconds gauge
ramaria_verify_timestamp_seconds{backup="shop"} 1.7644736e+09
# HELP ramaria_verify_problems How many problems the last verification found.
# TYPE ramaria_verify_problems gauge
ramaria_verify_problems{backup="shop"} 0
# HELP ramaria_verify_restore_seconds How long it took until a server answered with all data.
# TYPE ramaria_verify_restore_seconds gauge
ramaria_verify_restore_seconds{backup="shop"} 12.5
# HELP ramaria_verify_check_seconds How long it took to check every table.
# TYPE ramaria_verify_check_seconds gauge
ramaria_verify_check_seconds{backup="shop"} 1.5
# HELP ramaria_verify_tables How many tables the backup has.
# TYPE ramaria_verify_tables gauge
ramaria_verify_tables{backup="shop"} 3
# HELP ramaria_verify_rows How many rows the backup has.
# TYPE ramaria_verify_rows gauge
ramaria_verify_rows{backup="shop"} 1000
# HELP ramaria_verify_last_change_timestamp_seconds When what the backup holds last changed, at the latest.
# TYPE ramaria_verify_last_change_timestamp_seconds gauge
ramaria_verify_last_change_timestamp_seconds{backup="shop"} 1.76447e+09
`
	if d := cmp.Diff(want, r.Metrics("shop")); d != "" {
		t.Error(d)
	}
	bad := &Report{Status: Unrestorable, Verified: at}
	want = `# HELP ramaria_verify_success Whether the last verification found the backup good.
# TYPE ramaria_verify_success gauge
ramaria_verify_success{backup="shop"} 0
# HELP ramaria_verify_restorable Whether the last verification could restore the backup.
# TYPE ramaria_verify_restorable gauge
ramaria_verify_restorable{backup="shop"} 0
# HELP ramaria_verify_timestamp_seconds When the last verification began.
# TYPE ramaria_verify_timestamp_seconds gauge
ramaria_verify_timestamp_seconds{backup="shop"} 1.76447e+09
# HELP ramaria_verify_problems How many problems the last verification found.
# TYPE ramaria_verify_problems gauge
ramaria_verify_problems{backup="shop"} 0
`
	if d := cmp.Diff(want, bad.Metrics("shop")); d != "" {
		t.Error(d)
	}
}
