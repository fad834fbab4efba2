package differential

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/tests/picture"
)

// objects are tables of the whole server that hold what statements make: accounts, rights, servers, functions, XA
// transactions. Those that a server has not are passed over.
var objects = []string{
	"SELECT * FROM mysql.global_priv", "SELECT * FROM mysql.user", "SELECT * FROM mysql.db", "SELECT * FROM mysql.tables_priv", "SELECT * FROM mysql.columns_priv",
	"SELECT * FROM mysql.procs_priv", "SELECT * FROM mysql.proxies_priv", "SELECT * FROM mysql.roles_mapping", "SELECT * FROM mysql.role_edges", "SELECT * FROM mysql.default_roles",
	"SELECT * FROM mysql.global_grants", "SELECT * FROM mysql.password_history", "SELECT * FROM mysql.servers", "SELECT * FROM mysql.func", "SELECT * FROM mysql.plugin",
	"SELECT * FROM mysql.component", "SELECT * FROM mysql.time_zone_name", "SELECT COUNT(*), SUM(Offset) FROM mysql.time_zone_transition_type",
	"SELECT * FROM mysql.help_topic WHERE help_topic_id < 3",
	"SELECT * FROM mysql.index_stats", "SELECT * FROM mysql.column_stats", "SELECT * FROM mysql.table_stats",
	"SELECT NAME, FLAG, ROW_FORMAT, PAGE_SIZE, SPACE_TYPE, ENCRYPTION, STATE FROM information_schema.INNODB_TABLESPACES WHERE NAME REGEXP '^c[0-9]' AND NAME NOT LIKE '%/fts%'",
	"SELECT NAME, FLAG, ROW_FORMAT, PAGE_SIZE FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME REGEXP '^c[0-9_]+/' AND NAME NOT LIKE '%/FTS%'",
	"SELECT RESOURCE_GROUP_NAME, RESOURCE_GROUP_TYPE, RESOURCE_GROUP_ENABLED, VCPU_IDS, THREAD_PRIORITY FROM information_schema.RESOURCE_GROUPS",
	"SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA",
	"SELECT SRS_NAME, SRS_ID, DEFINITION FROM information_schema.ST_SPATIAL_REFERENCE_SYSTEMS WHERE SRS_ID > 100000000",
	prepared,
}

const prepared = "XA RECOVER"

// times are those of changes, which a replay makes anew.
var (
	times      = regexp.MustCompile(`(?i)^(timestamp|password_timestamp|password_last_changed)$`)
	timeInside = regexp.MustCompile(`"password_last_changed": ?\d+,? ?|, "password_last_changed": ?\d+|"collected_(?:at|by)": "[^"]*"`)
	secrets    = regexp.MustCompile(`(?i)^(authentication_string|password|priv)$`)
	ofTrial    = regexp.MustCompile(`\bc\d+\b`)
)

// whole adds what belongs to no database to pictures: to that of the trial whose database's name it has in its
// own, and to that of the server itself, which is under "".
func (in *instance) whole(ctx context.Context, all map[string]picture.Picture) error {
	conn, err := in.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	l := picture.NewLooker(ctx, conn, "")
	for _, query := range objects {
		a := l.Ask(query)
		if len(a.Names) == 1 && a.Names[0] == "error" {
			in.unanswered[query] = true
			continue
		}
		var lines []string
		for _, row := range a.Rows {
			ours := slices.Contains(row, "app") || slices.Contains(row, "ramaria_admin") // each start gives them their passwords
			var fields []string
			for i, v := range row {
				if !times.MatchString(a.Names[i]) && (!ours || !secrets.MatchString(a.Names[i])) {
					fields = append(fields, a.Names[i]+"="+strconv.Quote(timeInside.ReplaceAllString(v, "")))
				}
			}
			lines = append(lines, strings.Join(fields, " ")+"\n")
		}
		slices.Sort(lines)
		for _, line := range lines {
			of := ofTrial.FindString(strings.ReplaceAll(line, "_", " "))
			if all[of] == nil {
				all[of] = picture.Picture{}
			}
			all[of][query] += line
		}
	}
	if l.Err() != nil {
		return fmt.Errorf("look at the server: %w", l.Err())
	}
	return nil
}
