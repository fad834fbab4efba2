package template

import "testing"

// TestCounterOf: the counter is none that a comment tells of.
func TestCounterOf(t *testing.T) {
	for create, want := range map[string]uint64{
		"CREATE TABLE `t` (\n  `a` int NOT NULL AUTO_INCREMENT\n) ENGINE=InnoDB AUTO_INCREMENT=4711 DEFAULT CHARSET=utf8mb4":                            4711,
		"CREATE TABLE `t` (\n  `a` int COMMENT ' AUTO_INCREMENT=3'\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT=' AUTO_INCREMENT=7'":                0,
		"CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB AUTO_INCREMENT=18446744073709551615 DEFAULT CHARSET=utf8mb4 COMMENT=' AUTO_INCREMENT=7'":        18446744073709551615,
		"CREATE TABLE `t` (\n  `a` int\n) /*!50100 TABLESPACE `x` */ ENGINE=InnoDB AUTO_INCREMENT=5\n/*!50100 PARTITION BY HASH (`a`)\nPARTITIONS 2 */": 5,
		"CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB AUTO_INCREMENT=6\n PARTITION BY LIST (`a`)\n(PARTITION `p` VALUES IN (1) ENGINE = InnoDB)":      6,
	} {
		got, err := CounterOf(create)
		if got != want || err != nil {
			t.Errorf("%s: %d, %v; want %d", create, got, err, want)
		}
	}
}
