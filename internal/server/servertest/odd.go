package servertest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// odd are global values that every session of a server begins with, as literals, and under which statements do
// something else than usual, take no effect, or are refused. What a server does not have it is not given.
var odd = map[string][]string{
	"autocommit": {"0"}, "completion_type": {"'CHAIN'"}, "sql_safe_updates": {"1"},
	"tx_isolation": {"'SERIALIZABLE'", "'READ-UNCOMMITTED'"}, "transaction_isolation": {"'SERIALIZABLE'", "'READ-UNCOMMITTED'"},
	"tx_read_only": {"1"}, "transaction_read_only": {"1"},
	"lock_wait_timeout": {"2"}, "innodb_lock_wait_timeout": {"2"}, "wait_timeout": {"1"}, "net_read_timeout": {"1"}, "net_write_timeout": {"1"},
	"idle_transaction_timeout": {"1"}, "idle_readonly_transaction_timeout": {"1"}, "idle_write_transaction_timeout": {"1"},
	"sql_mode": {
		"''", "'ANSI_QUOTES,PIPES_AS_CONCAT,IGNORE_SPACE'", "'NO_BACKSLASH_ESCAPES'", "'NO_AUTO_VALUE_ON_ZERO,PAD_CHAR_TO_FULL_LENGTH'", "'ORACLE'",
	},
	"explicit_defaults_for_timestamp": {"0", "1"}, "innodb_strict_mode": {"0", "1"}, "group_concat_max_len": {"4"}, "sql_quote_show_create": {"0"},
	"foreign_key_checks": {"0", "1"}, "unique_checks": {"0", "1"}, "check_constraint_checks": {"0", "1"},
	"character_set_client": {"'latin1'"}, "collation_connection": {"'latin1_bin'", "'utf16_bin'"},
	"time_zone": {"'+05:30'"}, "auto_increment_increment": {"7"}, "auto_increment_offset": {"3"}, "div_precision_increment": {"0"},
	"max_error_count": {"0"}, "max_sort_length": {"64"}, "low_priority_updates": {"1"}, "sql_warnings": {"1"},
	"init_connect": {"'SET autocommit=0'"},
	// MariaDB
	"old_mode": {"''", "'COMPAT_5_1_CHECKSUM'"}, "alter_algorithm": {"'INSTANT'", "'COPY'"}, "sql_if_exists": {"1"}, "enforce_storage_engine": {"'Aria'"},
	"system_versioning_alter_history": {"'KEEP'"}, "optimizer_use_condition_selectivity": {"1"},
	// MySQL
	"sql_require_primary_key": {"1"}, "sql_generate_invisible_primary_key": {"1"}, "show_gipk_in_create_table_and_information_schema": {"0"},
	"restrict_fk_on_non_standard_key": {"0", "1"}, "information_schema_stats_expiry": {"9"}, "default_collation_for_utf8mb4": {"'utf8mb4_general_ci'"},
}

// barely are those under which the servers' own programs, such as the one that writes dumps, do not work either.
var barely = map[string][]string{
	"sql_select_limit": {"1"}, "max_statement_time": {"0.001"}, "max_execution_time": {"1"}, "max_join_size": {"1"}, "sql_big_selects": {"0"},
	"max_session_mem_used": {"65536"}, "character_set_results": {"'latin1'"}, "system_versioning_asof": {"'2000-01-01'"},
}

// unlike are those that Odd leaves out, so that the application of a test makes the tables that it means.
var unlike = []string{"enforce_storage_engine"}

// Odd gives a server some odd settings, chosen by g, for sessions from then on, and logs them.
func (r *Running) Odd(t testing.TB, g *rand.Rand) {
	t.Helper()
	var list []string
	for _, name := range slices.Sorted(maps.Keys(odd)) {
		value, chosen := odd[name][g.IntN(len(odd[name]))], g.IntN(3) == 0
		if chosen && !slices.Contains(unlike, name) {
			list = append(list, name+" = "+value)
		}
	}
	r.setGlobal(t, list)
}

// Oddest gives a server the first odd value of every setting.
func (r *Running) Oddest(t testing.TB) { t.Helper(); r.setGlobal(t, firsts(odd)) }

// Barely gives a server those as well that bear down on everybody.
func (r *Running) Barely(t testing.TB) { t.Helper(); r.setGlobal(t, firsts(barely)) }

// IsBarely reports whether a setting is one of these.
func IsBarely(name string) bool { return barely[name] != nil }

func firsts(settings map[string][]string) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		list = append(list, name+" = "+settings[name][0])
	}
	return list
}

func (r *Running) setGlobal(t testing.TB, list []string) {
	t.Helper()
	db, err := dbconn.Open(r.Endpoint.Socket, r.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var set []string
	for _, s := range list {
		_, err := db.ExecContext(t.Context(), "SET GLOBAL "+s)
		switch number := dbconn.ErrorNumber(err); {
		case err == nil:
			set = append(set, s)
		case dbconn.IsUnknownVariable(err), number == 1231: // it has no such setting, or no such value
		default:
			t.Fatal(fmt.Errorf("SET GLOBAL %s: %w", s, err))
		}
	}
	t.Logf("SET GLOBAL %s", strings.Join(set, ", "))
}
