package verify

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// counter is a column with AUTO_INCREMENT, and the largest value of its type; 0 where that is not told.
type counter struct {
	column string
	most   uint64
}

// counterShare is from which part of its type on a counter is worth a note.
const counterShare = 0.8

// mostOf is the largest whole number of a type; see https://dev.mysql.com/doc/refman/8.4/en/integer-types.html
func mostOf(kind string, unsigned bool) uint64 {
	bits := map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}[kind]
	if bits == 0 {
		return 0
	}
	if !unsigned {
		bits--
	}
	return math.MaxUint64 >> (64 - bits)
}

// autoIncrement is how SHOW CREATE TABLE has the next number.
var autoIncrement = regexp.MustCompile(`(?m)^(\).*?) AUTO_INCREMENT=(\d+)`)

// nearlyFull says how much of its numbers a table has used, "" while there are enough.
func (c counter) nearlyFull(definition string) string {
	m := autoIncrement.FindStringSubmatch(definition)
	if m == nil || c.most == 0 {
		return ""
	}
	next, err := strconv.ParseUint(m[2], 10, 64)
	if share := float64(next) / float64(c.most); err == nil && share >= counterShare {
		return fmt.Sprintf("AUTO_INCREMENT of column %s is at %d of %d, %.0f %%", c.column, next, c.most, 100*share)
	}
	return ""
}
