package fit

import (
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// leniency is a setting of the session with which a server takes what it has refused.
type leniency struct {
	codes []int
	// says is part of the message, "" for any.
	says        string
	name, value string
	// of is what was taken, as it is told.
	of string
}

// leniencies are what servers of today refuse of what older ones took, or others take.
// https://dev.mysql.com/doc/mysql-errors/9.0/en/server-error-reference.html https://mariadb.com/kb/en/mariadb-error-codes/
var leniencies = []leniency{
	// ER_TRUNCATED_WRONG_VALUE has the value in it. A date that is none at all stays refused.
	{[]int{1292}, "-00", "sql_mode", withoutZeroDates, "zero dates (without NO_ZERO_DATE and NO_ZERO_IN_DATE)"},
	{[]int{1067}, "", "sql_mode", withoutZeroDates, "zero dates as defaults (without NO_ZERO_DATE and NO_ZERO_IN_DATE)"},
	// ER_TOO_BIG_ROWSIZE, ER_ILLEGAL_HA_CREATE_OPTION, ER_TABLE_WITHOUT_PK and the like of InnoDB's strict mode.
	{[]int{1118, 1031, 1478, 140}, "", "innodb_strict_mode", "OFF", "tables that InnoDB warns of (innodb_strict_mode=OFF)"},
	// ER_FK_NO_UNIQUE_INDEX_PARENT
	{[]int{6125}, "", "restrict_fk_on_non_standard_key", "OFF", "foreign keys to columns that are not unique (restrict_fk_on_non_standard_key=OFF)"},
	// ER_TABLE_WITHOUT_PK
	{[]int{3750}, "", "sql_require_primary_key", "OFF", "tables without a primary key (sql_require_primary_key=OFF)"},
}

const withoutZeroDates = "REPLACE(REPLACE(@@sql_mode, 'NO_ZERO_DATE', ''), 'NO_ZERO_IN_DATE', '')"

func leniencyFor(said dbconn.Refusal) (leniency, bool) {
	i := slices.IndexFunc(leniencies, func(l leniency) bool {
		return slices.Contains(l.codes, said.Code) && strings.Contains(said.Message, l.says)
	})
	if i < 0 {
		return leniency{}, false
	}
	return leniencies[i], true
}

// Leniency returns a setting of the session, and a value for it, with which the server may take what it has refused.
func (f *Fit) Leniency(said dbconn.Refusal) (name, value string, ok bool) {
	l, ok := leniencyFor(said)
	return l.name, l.value, ok
}

// Relented counts a statement that the server took so.
func (f *Fit) Relented(said dbconn.Refusal) {
	if l, ok := leniencyFor(said); ok {
		f.notes.add(ofLeniency, l.of)
	}
}

// HelpsAgainst says that Fix may help against a refusal.
func HelpsAgainst(said dbconn.Refusal) bool {
	_, ok := leniencyFor(said)
	return ok
}
