package differential

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/tests/home"
	"github.com/ramaria-db/ramaria/tests/picture"
)

//go:embed settings.txt
var settingsText string

// setting is a value of a session variable.
type setting struct{ name, value string }

func (s setting) String() string { return "SET SESSION " + s.name + " = " + s.value }

// choice is a session variable with values that the application's account may give it.
type choice struct {
	name   string
	values []string
}

// table reads settings.txt: values by name; none for those that are left alone.
func table(text string) map[string][]string {
	list := map[string][]string{}
	for line := range strings.Lines(text) {
		line, _, _ := strings.Cut(line, " #")
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		list[name] = nil
		for _, value := range strings.Split(rest, " | ") {
			if value = strings.TrimSpace(value); value != "-" {
				list[name] = append(list[name], value)
			}
		}
	}
	return list
}

// choices are all session variables of the server that the account may set, by trying, but those that match a
// pattern.
func (in *instance) choices(ctx context.Context, without string) (list []choice, err error) {
	conn, err := in.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	known := table(settingsText)
	left := regexp.MustCompile(cmp.Or(without, "^$"))
	ask := picture.NewLooker(ctx, conn, "")
	possible := map[string][]string{} // of enumerations, as MariaDB tells them
	for _, row := range ask.Ask("SELECT LOWER(VARIABLE_NAME), ENUM_VALUE_LIST FROM information_schema.SYSTEM_VARIABLES WHERE ENUM_VALUE_LIST IS NOT NULL").Rows {
		if len(row) == 2 {
			possible[row[0]] = strings.Split(row[1], ",")
		}
	}
	for _, row := range ask.Ask("SHOW SESSION VARIABLES").Rows {
		name, now := row[0], row[1]
		values, listed := known[name]
		if !listed {
			values = others(now, possible[name])
		}
		c := choice{name: name}
		for _, value := range values {
			set := setting{name, value}
			if !listed && set.sets(now) || left.MatchString(set.String()) {
				continue
			}
			if home.Exec(ctx, conn, set.String()) != nil {
				continue
			}
			c.values = append(c.values, value)
			if err := home.Exec(ctx, conn, "SET SESSION "+name+" = DEFAULT"); err != nil { // some have none
				_ = home.Exec(ctx, conn, setting{name, literal(now)}.String())
			}
		}
		if len(c.values) > 0 {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b choice) int { return strings.Compare(a.name, b.name) })
	return list, ask.Err()
}

// sets reports whether the value is what the variable has.
func (s setting) sets(now string) bool {
	return strings.EqualFold(strings.Trim(s.value, "'"), now) || s.value == "1" && now == "ON" || s.value == "0" && now == "OFF"
}

// others are values that a variable of which the table knows nothing may have.
func others(now string, enum []string) (list []string) {
	switch n, err := strconv.ParseInt(now, 10, 64); {
	case len(enum) > 0:
		for _, value := range enum {
			list = append(list, "'"+value+"'")
		}
	case now == "ON" || now == "OFF":
		list = []string{"1", "0"}
	case err == nil && n < 1000:
		list = []string{fmt.Sprint(n + 1), "0", "1"}
	case err == nil:
		list = []string{fmt.Sprint(n / 2)}
	default:
		list = []string{"0", "1", "2"} // of an enumeration of MySQL, by its place
	}
	return list
}

func literal(now string) string {
	if _, err := strconv.ParseFloat(now, 64); err == nil {
		return now
	}
	return "'" + strings.ReplaceAll(now, "'", "''") + "'"
}
