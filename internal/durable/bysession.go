package durable

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

// An applier computes stored generated columns anew, and looks at MySQL's CHECKs, with its own settings. The log does not have
// all that an expression may depend on, or has it once for a whole transaction: the column may have another value after a
// recovery. Of sql_mode nothing is said here: any expression that converts times or reads a CHAR may depend on that.

// zoneSetting is what converts a TIMESTAMP to what else there is of times.
const zoneSetting = "time_zone"

// bySetting is what an expression, as a server writes it and without what is quoted in it, depends on a setting by.
var bySetting = map[string]*regexp.Regexp{
	zoneSetting:               regexp.MustCompile(`(?i)\b(unix_timestamp|from_unixtime)\(`),
	"div_precision_increment": regexp.MustCompile(`/`),
	"lc_time_names":           regexp.MustCompile(`(?i)\b(dayname|monthname)\(|\bdate_format\(.*` + namesQuoted),
	"block_encryption_mode":   regexp.MustCompile(`(?i)\baes_(en|de)crypt\(`),
	"default_week_format":     regexp.MustCompile(`(?i)\bextract\(week\b`), // MySQL writes WEEK with its mode
	"default_regex_flags":     regexp.MustCompile(`(?i)\bregexp`),          // an operator, and functions
}

const (
	backquoted = "`(?:[^`]|``)*`"
	// namesQuoted stands for a format that has names of days or months.
	namesQuoted = "'%W'"
)

var (
	quoted    = regexp.MustCompile(`(?s)'(?:[^'\\]|''|\\.)*'|` + backquoted)
	nameParts = regexp.MustCompile(`%[abMW]`)
	names     = regexp.MustCompile(backquoted)
	// anyZone is what reads a TIMESTAMP without converting it.
	anyZone = regexp.MustCompile(`(?i)\bunix_timestamp\((` + backquoted + `)\)|(` + backquoted + `) is (?:not )?null`)
	escaped = regexp.MustCompile(`(?s)\\(.)`)
)

// settingsIn are the settings that an expression depends on, sorted. stamp reports whether a column is a TIMESTAMP.
func settingsIn(expression string, stamp func(column string) bool) (settings []string) {
	isStamp := func(name string) bool { return stamp(unquoted([]byte(name))) }
	text := quoted.ReplaceAllStringFunc(expression, func(s string) string {
		switch {
		case s[0] == '`':
			return s
		case nameParts.MatchString(s):
			return namesQuoted
		}
		return "''"
	})
	text = anyZone.ReplaceAllStringFunc(text, func(s string) string {
		if isStamp(names.FindString(s)) {
			return ""
		}
		return s
	})
	zone := slices.ContainsFunc(names.FindAllString(text, -1), isStamp)
	text = names.ReplaceAllString(text, "")
	for setting, use := range bySetting {
		if use.MatchString(text) || setting == zoneSetting && zone {
			settings = append(settings, setting)
		}
	}
	slices.Sort(settings)
	return settings
}

const (
	// columnsQuery is of a table, what has an expression, its name, whether that is a TIMESTAMP, and the expression.
	columnsQuery = `SELECT CONCAT(table_schema, '.', table_name), 'column', column_name, data_type = 'timestamp', IF(extra LIKE '%STORED GENERATED%', generation_expression, '')
		FROM information_schema.columns
		WHERE table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') AND (data_type = 'timestamp' OR extra LIKE '%STORED GENERATED%')`
	// checksQuery is the same of CHECKs. MariaDB's applier does without.
	checksQuery = ` UNION ALL SELECT CONCAT(t.table_schema, '.', t.table_name), 'CHECK', c.constraint_name, FALSE, c.check_clause
		FROM information_schema.check_constraints c JOIN information_schema.table_constraints t USING (constraint_schema, constraint_name)
		WHERE t.constraint_type = 'CHECK' AND t.enforced = 'YES' AND t.table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')`
)

// bySession lists what of tables depends on a setting of the session that the log does not have. One query tells of all
// tables, since MariaDB opens each of them for one.
func bySession(ctx context.Context, db *sql.DB, flavour server.Flavour) (list []string, err error) {
	query := columnsQuery
	if flavour == server.MySQL {
		query += checksQuery
	}
	there := map[string]bool{} // not every server has all of them
	if err := eachRow(ctx, db, "SHOW VARIABLES", func(name, _ string) { there[name] = true }); err != nil {
		return nil, err
	}
	if flavour == server.MariaDB {
		there["lc_time_names"] = false // it takes a DATE_FORMAT with a locale only
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("look for expressions: %w", err)
	}
	defer rows.Close()
	type expression struct {
		table, kind, name string
		stamp             bool
		text              sql.NullString
	}
	var all []expression
	stamps := map[[2]string]bool{}
	for rows.Next() {
		var e expression
		if err := rows.Scan(&e.table, &e.kind, &e.name, &e.stamp, &e.text); err != nil {
			return nil, fmt.Errorf("look for expressions: %w", err)
		}
		if e.stamp {
			stamps[[2]string{e.table, strings.ToLower(e.name)}] = true
		}
		if flavour == server.MySQL { // which has a literal in it, and quotes all of it once more
			e.text.String = escaped.ReplaceAllString(e.text.String, "$1")
		}
		if strings.HasPrefix(e.text.String, "ROW ") { // START and END, of a versioned table, are in the log
			e.text.String = ""
		}
		if e.text.String != "" {
			all = append(all, e)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("look for expressions: %w", err)
	}
	for _, e := range all {
		settings := settingsIn(e.text.String, func(column string) bool { return stamps[[2]string{e.table, strings.ToLower(column)}] })
		if e.stamp && !slices.Contains(settings, zoneSetting) { // of what is none
			settings = append(settings, zoneSetting)
		}
		settings = slices.DeleteFunc(settings, func(s string) bool { return !there[s] })
		if len(settings) > 0 {
			list = append(list, fmt.Sprintf("%s (%s %s depends on the %s of the session)", e.table, e.kind, e.name, strings.Join(settings, " and the ")))
		}
	}
	slices.Sort(list)
	return list, nil
}
