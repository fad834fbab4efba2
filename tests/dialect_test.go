package tests

import (
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

// numbers is a table expression for every server with the column seq, from 1 to n, at
// most 40000; recursion alone ends at a thousand.
func numbers(n int) string {
	return fmt.Sprintf("(WITH RECURSIVE d (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM d WHERE n < 199) "+
		"SELECT x.n * 200 + y.n + 1 AS seq FROM d AS x JOIN d AS y WHERE x.n * 200 + y.n < %d) AS numbers", n)
}

// dialect rewrites statements in MariaDB's SQL for a server: MySQL has no sequences, no
// Aria, and no table of routines.
func dialect(srv *server.Server, statements ...string) []string {
	if srv.Flavour == server.MariaDB {
		return statements
	}
	var list []string
	for _, s := range statements {
		if strings.Contains(s, "CREATE SEQUENCE") || strings.Contains(s, "mysql.proc") {
			continue
		}
		list = append(list, strings.NewReplacer("ENGINE=Aria", "ENGINE=MyISAM", " PAGE_CHECKSUM=1", "").Replace(s))
	}
	return list
}
