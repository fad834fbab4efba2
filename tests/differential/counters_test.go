package differential

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/tests/picture"
)

// numbers matches statements that take numbers of a counter which no committed row gets: they are in no log, so
// that they may be given again.
var numbers = regexp.MustCompile(`(?i)ROLLBACK|BEGIN|START TRANSACTION|autocommit|XA |SELECT|IGNORE|DUPLICATE|REPLACE|CALL|\), \(|LOAD DATA|RETURNING`)

// changing matches statements that change rows.
var changing = regexp.MustCompile(`^(INSERT|UPDATE|DELETE|REPLACE)\b`)

// volatile are tables whose rows a start of the server loses, as its manual says, or whose engine does not roll back: a base
// backup that is made while a statement waits may lack its rows, as docs/durability.md says.
var volatile = regexp.MustCompile(`(?m)ENGINE ?= ?(MEMORY|ARCHIVE|CSV|MyISAM|MRG_MyISAM|Aria)`)

// updated is when a histogram was computed.
var updated = regexp.MustCompile(`"last-updated": "[^"]*"`)

// width is what the expression was wide that a column was made of. SHOW CREATE does not have it.
var width = regexp.MustCompile(`(DATA_TYPE=(?:double|float)) NUMERIC_PRECISION=\d+`)

// forgive leaves the rows of tables out that are in the memory of a server, and gives counters that are lower after a
// recovery the values that they had before, where a trial may have taken numbers for no row. Those that are higher skip
// numbers, which harms nobody.
func (t *trial) forgive(said outcome, before, after picture.Picture) {
	for of, text := range before {
		if table, ok := strings.CutPrefix(of, "table "); ok && volatile.MatchString(text) && volatile.MatchString(after[of]) {
			delete(before, "rows "+table)
			delete(after, "rows "+table)
			after["shown counter "+table] = before["shown counter "+table]
		}
	}
	for _, p := range []picture.Picture{before, after} {
		for of, text := range p {
			switch of {
			case "information_schema.COLUMNS":
				p[of] = width.ReplaceAllString(text, "$1")
			case "information_schema.COLUMN_STATISTICS":
				p[of] = updated.ReplaceAllString(text, "")
			}
		}
	}
	taken, within, changed := false, false, false
	for i, s := range t.steps {
		refused := i < len(said) && said[i] != nil
		taken = taken || refused || numbers.MatchString(s.text)
		within = strings.HasPrefix(s.text, "XA START") || within && !strings.HasPrefix(s.text, "XA END")
		changed = changed || within && !refused && changing.MatchString(s.text)
	}
	if !changed { // a transaction that is prepared and has nothing is not logged
		delete(before, prepared)
		delete(after, prepared)
	}
	was, is, all := counters(before), counters(after), true
	for of := range before {
		table, ok := strings.CutPrefix(of, "shown counter ")
		switch {
		case !ok:
		case before[of] == after[of]: // information_schema of MySQL tells of counters that there are not
		case is[table] > was[table], is[table] < was[table] && taken:
			after[of] = before[of]
		default:
			all = false
		}
	}
	if _, there := before["counter"]; there && all {
		after["counter"] = before["counter"]
	}
}

// counters are those that a picture has, by table.
func counters(p picture.Picture) map[string]uint64 {
	list := map[string]uint64{}
	for line := range strings.Lines(p["counter"]) {
		if i := strings.LastIndexByte(strings.TrimSpace(line), ' '); i > 0 {
			if n, err := strconv.ParseUint(strings.TrimSpace(line)[i+1:], 10, 64); err == nil {
				list[line[:i]] = n
			}
		}
	}
	return list
}
