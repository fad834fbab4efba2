package load

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Servers know time zones by name from tables of the database mysql, which are empty in a new data directory.
// https://mariadb.com/kb/en/time-zones/#mysql-time-zone-tables
const (
	// zoneFrom and zoneTo are the seconds that TIMESTAMP reaches from and to, with a margin.
	zoneFrom, zoneTo = -1 << 31, 1<<32 - 1
	// maxChanges bounds the changes of a zone that are written.
	maxChanges = 2000
	// maxAbbreviation is the size of the column.
	maxAbbreviation = 8
)

var quotedZone = regexp.MustCompile(`'([A-Za-z0-9/_+-]+)'$`)

// learnZone has the server know the time zone that it has refused. It returns false if nobody knows it, or the account may not
// write it.
func (l *loader) learnZone(ctx context.Context, said dbconn.Refusal) bool {
	m := quotedZone.FindStringSubmatch(said.Message)
	if len(m) < 2 || m[1] == "Local" {
		return false
	}
	zone, err := time.LoadLocation(m[1])
	if err != nil {
		return false
	}
	// On a connection of its own: the mode and the current database of the dump are not to matter.
	own, err := l.connect(ctx, "")
	if err != nil {
		return false
	}
	defer own.conn.Close()
	for _, text := range zoneStatements(m[1], zone) {
		if err := own.exec(ctx, text); err != nil {
			return false
		}
	}
	l.fit.Learned(m[1])
	return true
}

// zoneType is an offset that a zone has for a time.
type zoneType struct {
	offset int
	dst    bool
	name   string
}

// zoneStatements return what writes a zone into the server's tables.
func zoneStatements(name string, zone *time.Location) []string {
	types := map[zoneType]int{}
	var list []zoneType
	typeAt := func(t time.Time) int {
		abbreviation, offset := t.Zone()
		z := zoneType{offset, t.IsDST(), abbreviation[:min(len(abbreviation), maxAbbreviation)]}
		if _, ok := types[z]; !ok {
			types[z] = len(list)
			list = append(list, z)
		}
		return types[z]
	}
	at := time.Unix(zoneFrom, 0).In(zone)
	kind := typeAt(at) // the first one is that of all times before
	var changes []string
	for len(changes) < maxChanges {
		_, end := at.ZoneBounds()
		if end.IsZero() || end.Unix() > zoneTo {
			break
		}
		if !end.After(at) { // between years that a rule is for, the end may be the beginning
			at = at.Add(24 * time.Hour)
			continue
		}
		at = end
		if now := typeAt(at); now != kind {
			kind = now
			changes = append(changes, fmt.Sprintf("(@ramaria_zone, %d, %d)", at.Unix(), kind))
		}
	}
	var kinds []string
	for i, z := range list {
		kinds = append(kinds, fmt.Sprintf("(@ramaria_zone, %d, %d, %t, %s)", i, z.offset, z.dst, dbconn.Quote(z.name)))
	}
	statements := []string{
		"INSERT INTO mysql.time_zone (use_leap_seconds) VALUES ('N')",
		"SET @ramaria_zone = LAST_INSERT_ID()",
		"INSERT INTO mysql.time_zone_transition_type (time_zone_id, transition_type_id, `offset`, is_dst, abbreviation) VALUES " + strings.Join(kinds, ", "),
	}
	if len(changes) > 0 {
		statements = append(statements, "INSERT INTO mysql.time_zone_transition (time_zone_id, transition_time, transition_type_id) VALUES "+strings.Join(changes, ", "))
	}
	return append(statements, "INSERT IGNORE INTO mysql.time_zone_name (name, time_zone_id) VALUES ("+dbconn.Quote(name)+", @ramaria_zone)")
}
