package replay

import "testing"

// TestMayRemake: what leaves a table of engine MEMORY one is not taken for what may make it another, since an update of its
// rows is refused then.
func TestMayRemake(t *testing.T) {
	for sql, want := range map[string]bool{
		"CREATE INDEX i ON mem (a)": false, "create or replace unique index i on d.mem (a)": false, "DROP INDEX i ON mem": false,
		"/* a */ ALTER TABLE mem DROP COLUMN a, ADD created INT, ADD engine_id INT":                               false,
		"CREATE DEFINER=`a`@`%` TRIGGER t BEFORE INSERT ON mem FOR EACH ROW BEGIN CREATE TABLE mem2 (a INT); END": false,
		"CREATE ALGORITHM=UNDEFINED DEFINER=`a`@`%` SQL SECURITY DEFINER VIEW v AS SELECT * FROM mem":             false,
		"CREATE TABLE member (a INT)": false, "DROP TABLE remember": false, "TRUNCATE mem": false, "DROP DATABASE dd": false,

		"DROP TABLE mem": true, "DROP TABLE x, `mem`": true, "create or replace table d.Mem (a int)": true, "RENAME TABLE x TO mem": true,
		"ALTER TABLE mem ENGINE=InnoDB": true, "ALTER TABLE mem /*!50100ENGINE=InnoDB*/": true, "ALTER TABLE x EXCHANGE PARTITION p WITH TABLE mem": true,
		"ALTER TABLE mem RENAME TO x": true, "ALTER TABLE x CONVERT TABLE mem TO PARTITION p": true, "DROP DATABASE d": true, "DROP SCHEMA IF EXISTS `D`": true,
		"/*!40000 DROP TABLE mem */": true, "/*!40000 ALTER TABLE mem ENGINE=InnoDB */": true, "SET STATEMENT lock_wait_timeout=1 FOR ALTER TABLE mem ENGINE=InnoDB": true,
		"CREATE SEQUENCE mem": true, "CREATE TABLE mem SELECT 1": true,
	} {
		if got := mayRemake([]byte(sql), "d.mem"); got != want {
			t.Errorf("%s: %t", sql, got)
		}
	}
	if !mayRemake([]byte("DROP TABLE `ä`"), "d.ä") || !mayRemake([]byte("DROP TABLE x"), "d.a`b") {
		t.Error("a name that may be written in several ways is in any statement")
	}
}
