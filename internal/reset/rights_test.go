package reset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/reset"
)

// TestRightsOfStatements tells what a statement may do to rights.
func TestRightsOfStatements(t *testing.T) {
	none, given, taken, both := reset.Rights{}, reset.Rights{Given: 1}, reset.Rights{Taken: 1}, reset.Rights{Given: 1, Taken: 1}
	public, all, routine := reset.Rights{Given: 1, Public: 1}, reset.Rights{Given: 1, Taken: 1, Public: 1}, reset.Rights{Routines: 1}
	for _, c := range []struct {
		sql  string
		want reset.Rights
	}{
		{"GRANT SUPER ON *.* TO a", given}, {"GRANT ALL ON * . * TO a", given}, {"GRANT r TO a", given}, {"GRANT `r on x.y` TO a", given}, {"GRANT 'r on x.y' TO a", given},
		{"GRANT /* on x.y */ SUPER ON *.* TO a", given}, {"GRANT SUPER ON *.* TO PUBLIC", public}, {"GRANT SUPER ON *.* TO `App`@`localhost`", public}, {"GRANT ALL ON `shop`.* TO app", none},
		{"GRANT SELECT ON * TO a", given},
		{"GRANT ALL ON `shop`.* TO a", none}, {"GRANT SELECT (a, b), UPDATE ON shop.t TO a@'*.*'", none}, {"GRANT EXECUTE ON PROCEDURE shop.p TO a", none}, {"GRANT ALL PRIVILEGES ON `s*`.* TO a", none},
		{"GRANT INSERT ON mysql.* TO a", all}, {"REVOKE SUPER ON *.* FROM a", taken}, {"DROP USER a", taken}, {"DROP ROLE a", taken}, {"RENAME USER a TO b", both},
		{"CREATE USER a IDENTIFIED BY 'x'", none}, {"CREATE USER a DEFAULT ROLE r", given}, {"CREATE OR REPLACE USER a", taken}, {"ALTER USER a IDENTIFIED BY 'x'", none}, {"CREATE ROLE r", none},
		{"SET PASSWORD FOR a = 'x'", none}, {"SET DEFAULT ROLE r TO a", given}, {"INSTALL SONAME 'x'", none}, {"CREATE TABLE t (mysql int)", none}, {"ALTER TABLE mysql.user ADD x int", all}, {"FROB", all},
		{"CREATE DEFINER=`root`@`localhost` PROCEDURE `p`() SELECT 1", routine}, {"CREATE DEFINER=`root`@`localhost` PROCEDURE `watched`.`p`() CALL lib.q()", none},
		{"CREATE PROCEDURE watched . p() SELECT 1", none}, {"CREATE PROCEDURE IF NOT EXISTS lib.p() CALL watched.q()", routine}, {"ALTER PROCEDURE `lib`.`p` SQL SECURITY INVOKER", routine},
		{"CREATE PROCEDURE `my lib`.`p`() SELECT 1 /* alter procedure watched.p */", routine}, {"CREATE PROCEDURE /* in */ lib.p() SELECT 1", routine},
		{"CREATE OR REPLACE PACKAGE BODY lib.p AS END", routine}, {"DROP PROCEDURE lib.p", none}, {"CREATE FUNCTION lib.f() RETURNS int RETURN 1", none},
	} {
		if d := cmp.Diff(c.want, reset.RightsOf(c.sql, "elsewhere", "watched")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.sql, d)
		}
	}
	if got := reset.RightsOf("CREATE PROCEDURE p() SELECT 1", "watched", "watched"); got != none {
		t.Errorf("a procedure of a watched database counts: %v", got)
	}
}
