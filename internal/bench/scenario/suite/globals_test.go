package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestGlobalsArePutBack changes variables of all types, and has them put back.
func TestGlobalsArePutBack(t *testing.T) {
	settings := []string{
		"max_connections = 77", "long_query_time = 1.5", "init_connect = '1'", "sql_mode = ''", "tx_isolation = 'READ-COMMITTED' -- mariadb",
		"transaction_isolation = 'READ-COMMITTED' -- mysql", "foreign_key_checks = OFF", "time_zone = '+03:00'", "character_set_server = 'latin1'",
		"optimizer_switch = 'index_merge=off'", "slow_query_log = ON", "slow_query_log_file = 'other.log'", "read_only = ON",
		// Each bounds the other, and the lower one comes first by name.
		"innodb_io_capacity_max = 99999", "innodb_io_capacity = 88888",
	}
	servertest.Each(t, func(t *testing.T, want string) {
		l := labtest.Real(t, want)
		disk, err := lab.PlaceNamed(lab.PlaceDisk)
		if err != nil {
			t.Fatal(err)
		}
		r := l.NewServer(disk, "globals")
		t.Cleanup(func() {
			if err := r.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		db, err := dbconn.Open(r.Endpoint.Socket, r.Admin, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		before, err := readGlobals(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for line := range strings.Lines(servertest.Flavoured(l.Server, strings.Join(settings, "\n")+"\n")) {
			setting, _, _ := strings.Cut(strings.TrimSpace(line), " -- ")
			if err := lab.ExecAll(t.Context(), db, "SET GLOBAL "+setting); err != nil {
				t.Fatal(err)
			}
			count++
		}
		if err := lab.ExecAll(t.Context(), db, "CREATE DATABASE moves_gtid"); err != nil {
			t.Fatal(err)
		}
		changed, err := before.changed(t.Context(), db, moving)
		if err != nil || len(changed) < count {
			t.Fatalf("changed are %q, %v: want %d", changed, err, count)
		}
		if err := before.restore(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		if changed, err := before.changed(t.Context(), db, moving); err != nil || len(changed) > 0 {
			t.Errorf("still changed are %q, %v", changed, err)
		}
		// A variable that cannot be set was not changed by the suite.
		before["version"] = "another"
		if err := before.restore(t.Context(), db); err != nil {
			t.Error(err)
		}
		before["sql_mode"] = "NO_SUCH_MODE"
		if err := before.restore(t.Context(), db); err == nil || !strings.Contains(fmt.Sprint(err), "sql_mode") {
			t.Errorf("error %v, want one that names the variable", err)
		}
	})
}
