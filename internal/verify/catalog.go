package verify

import (
	"context"
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// applications leaves the server's own databases out.
const applications = " NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')"

// catalog is what there is in a server, without the rows.
type catalog struct {
	tables  []Table // the largest first
	objects []Object
	views   []Object
	// elsewhere are tables whose rows lie on another server.
	elsewhere []Table
	keys      []foreignKey
	// counters are the columns with AUTO_INCREMENT, by Table.String.
	counters map[string]counter
	// definers are the accounts that objects run as and that are not there, with one such object each.
	definers map[string]string
	// folds says that names of tables differ by more than the case of letters.
	folds bool
}

// remote are engines whose tables have their rows on another server, which the backup has nothing of.
var remote = map[string]bool{"FEDERATED": true, "CONNECT": true, "SPIDER": true}

// readCatalog reads what there is.
func readCatalog(ctx context.Context, db dbconn.Querier, users string) (*catalog, error) {
	c := &catalog{counters: map[string]counter{}, definers: map[string]string{}}
	for _, read := range []func(context.Context, dbconn.Querier) error{c.readTables, c.readObjects, c.readKeys, c.readCounters} {
		if err := read(ctx, db); err != nil {
			return nil, err
		}
	}
	if err := c.readDefiners(ctx, db, users); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *catalog) readTables(ctx context.Context, db dbconn.Querier) error {
	return dbconn.Query(ctx, db, `SELECT table_schema, table_name, table_type, engine, @@lower_case_table_names
		FROM information_schema.tables WHERE table_schema`+applications+` ORDER BY data_length DESC, table_schema, table_name`, func(row []string) error {
		c.folds = row[4] != "0"
		switch t := (Table{Database: row[0], Name: row[1], Engine: row[3]}); {
		case strings.Contains(row[2], "VIEW"):
			c.views = append(c.views, Object{"view", row[0], row[1]})
		case row[2] == "SEQUENCE":
			c.objects = append(c.objects, Object{"sequence", row[0], row[1]})
		case remote[strings.ToUpper(row[3])]:
			c.elsewhere = append(c.elsewhere, t)
		default:
			c.tables = append(c.tables, t)
		}
		return nil
	})
}

func (c *catalog) readObjects(ctx context.Context, db dbconn.Querier) error {
	for _, query := range []string{
		"SELECT LOWER(routine_type), routine_schema, routine_name FROM information_schema.routines WHERE routine_schema",
		"SELECT 'trigger', trigger_schema, trigger_name FROM information_schema.triggers WHERE trigger_schema",
		"SELECT 'event', event_schema, event_name FROM information_schema.events WHERE event_schema",
	} {
		err := dbconn.Query(ctx, db, query+applications+" ORDER BY 1, 2, 3", func(row []string) error {
			c.objects = append(c.objects, Object{row[0], row[1], row[2]})
			return nil
		})
		if err != nil {
			return err
		}
	}
	c.objects = append(c.objects, c.views...)
	return nil
}

// foreignKey is a foreign key: columns of a table that refer to those of its parent.
type foreignKey struct {
	name          string
	table, parent Table
	columns, refs []string
}

func (c *catalog) readKeys(ctx context.Context, db dbconn.Querier) error {
	return dbconn.Query(ctx, db, `SELECT table_schema, table_name, constraint_name, column_name, referenced_table_schema, referenced_table_name, referenced_column_name
		FROM information_schema.key_column_usage WHERE referenced_table_name IS NOT NULL AND table_schema`+applications+`
		ORDER BY table_schema, table_name, constraint_name, ordinal_position`, func(row []string) error {
		child := Table{Database: row[0], Name: row[1]}
		last := len(c.keys) - 1
		if last < 0 || c.keys[last].table != child || c.keys[last].name != row[2] {
			c.keys = append(c.keys, foreignKey{name: row[2], table: child, parent: Table{Database: row[4], Name: row[5]}})
			last++
		}
		k := &c.keys[last]
		k.columns, k.refs = append(k.columns, row[3]), append(k.refs, row[6])
		return nil
	})
}

// has reports whether a table is there.
func (c *catalog) has(t Table) bool {
	for _, list := range [][]Table{c.tables, c.elsewhere} {
		for _, u := range list {
			if u.String() == t.String() || c.folds && strings.EqualFold(u.String(), t.String()) {
				return true
			}
		}
	}
	return false
}

func (c *catalog) readCounters(ctx context.Context, db dbconn.Querier) error {
	return dbconn.Query(ctx, db, `SELECT table_schema, table_name, column_name, data_type, column_type
		FROM information_schema.columns WHERE extra LIKE '%auto_increment%' AND table_schema`+applications, func(row []string) error {
		c.counters[row[0]+"."+row[1]] = counter{row[2], mostOf(row[3], strings.Contains(row[4], "unsigned"))}
		return nil
	})
}

// readDefiners finds accounts that objects run as and that are not there.
func (c *catalog) readDefiners(ctx context.Context, db dbconn.Querier, users string) error {
	there := map[string]bool{}
	err := dbconn.Query(ctx, db, users, func(row []string) error {
		there[row[0]+"@"+strings.ToLower(row[1])] = true
		return nil
	})
	if err != nil {
		return err
	}
	return dbconn.Query(ctx, db, fmt.Sprintf(`SELECT definer, CONCAT('view ', table_schema, '.', table_name) FROM information_schema.views WHERE table_schema%[1]s
		UNION ALL SELECT definer, CONCAT(LOWER(routine_type), ' ', routine_schema, '.', routine_name) FROM information_schema.routines WHERE routine_schema%[1]s
		UNION ALL SELECT definer, CONCAT('trigger ', trigger_schema, '.', trigger_name) FROM information_schema.triggers WHERE trigger_schema%[1]s
		UNION ALL SELECT definer, CONCAT('event ', event_schema, '.', event_name) FROM information_schema.events WHERE event_schema%[1]s`, applications), func(row []string) error {
		user, host := splitAccount(row[0])
		if host != "" && !there[user+"@"+strings.ToLower(host)] && c.definers[row[0]] == "" {
			c.definers[row[0]] = row[1]
		}
		return nil
	})
}

// splitAccount splits a definer; that of a role has no host.
func splitAccount(definer string) (user, host string) {
	i := strings.LastIndexByte(definer, '@')
	if i < 0 {
		return definer, ""
	}
	return definer[:i], definer[i+1:]
}
