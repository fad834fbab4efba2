package template

import (
	"errors"
	"strings"
	"testing"
)

// TestCheckPlace has definitions of tables as the servers write them.
func TestCheckPlace(t *testing.T) {
	for _, tt := range []struct{ name, engine, create, refused string }{
		{"InnoDB", "InnoDB", "CREATE TABLE `t` (\n  `DATA DIRECTORY=` int COMMENT 'INDEX DIRECTORY=''x'''\n) ENGINE=InnoDB COMMENT='DATA DIRECTORY=''/x'''", ""},
		{"MERGE", "MRG_MYISAM", "CREATE TABLE `t` (\n  `a` int\n) ENGINE=MRG_MyISAM UNION=(`a`)", "engine MRG_MYISAM"},
		{"Spider", "SPIDER", "CREATE TABLE `t` (\n  `a` int\n) ENGINE=SPIDER", "engine SPIDER"},
		{"one not known", "Frobnicate", "CREATE TABLE `t` (\n  `a` int\n) ENGINE=Frobnicate", "engine Frobnicate"},
		{"MariaDB", "InnoDB", "CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB DEFAULT CHARSET=latin1 DATA DIRECTORY='/x/'", "DATA DIRECTORY"},
		{"MySQL", "InnoDB", "CREATE TABLE `t` (\n  `a` int\n) /*!50100 TABLESPACE `innodb_file_per_table` */ ENGINE=InnoDB DATA DIRECTORY='/x/'", "DATA DIRECTORY"},
		{"a partition", "InnoDB", "CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB\n/*!50100 PARTITION BY RANGE (`a`)\n(PARTITION p0 VALUES LESS THAN (1) DATA DIRECTORY = '/x' ENGINE = InnoDB) */", "DATA DIRECTORY"},
		{"its index", "MyISAM", "CREATE TABLE `t` (\n  `a` int\n) ENGINE=MyISAM INDEX DIRECTORY='/x/'", "INDEX DIRECTORY"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Shape{Name: "shop", Tables: []Table{{Name: "t", Kind: Base, Engine: tt.engine, Create: tt.create}}}
			switch err := s.Check(); {
			case tt.refused == "" && err != nil:
				t.Error(err)
			case tt.refused != "" && (!errors.Is(err, ErrUnclonable) || !strings.Contains(err.Error(), tt.refused) || !strings.Contains(err.Error(), "hint: ")):
				t.Errorf("%v, want one about %s", err, tt.refused)
			}
		})
	}
}

// TestDefinerIn finds the definer in statements as the servers write them.
func TestDefinerIn(t *testing.T) {
	for create, want := range map[string]string{
		"CREATE DEFINER=`root`@`localhost` PROCEDURE `p`()\nSELECT 1":                                                  "`root`@`localhost`",
		"CREATE ALGORITHM=UNDEFINED DEFINER=`a``b`@`%` SQL SECURITY DEFINER VIEW `v` AS select 1":                      "`a``b`@`%`",
		"CREATE DEFINER=`captain` PROCEDURE `p`()\nSELECT 1":                                                           "`captain`",
		"CREATE PROCEDURE `p`()\nSELECT 'DEFINER=`x`@`y`'":                                                             "",
		`CREATE DEFINER="root"@"localhost" PROCEDURE "p"() SET @a = 1`:                                                 `"root"@"localhost"`,
		`CREATE PROCEDURE "p"() SELECT 'DEFINER="x"@"y"'`:                                                              "",
		"CREATE DEFINER=`root`@`localhost` TRIGGER tr BEFORE INSERT ON `t` FOR EACH ROW SET NEW.a = 'DEFINER=`x`@`y`'": "`root`@`localhost`",
	} {
		if from, to := definerIn(create); create[from:to] != want {
			t.Errorf("%s: %q, want %q", create, create[from:to], want)
		}
	}
}
