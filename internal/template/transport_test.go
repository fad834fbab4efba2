package template

import "testing"

// TestTransportable: names of columns do not keep a table from being cloned by its file.
func TestTransportable(t *testing.T) {
	for create, want := range map[string]bool{
		"CREATE TABLE `t` (`encrypted` int, `directory` int, `fulltext` int) ENGINE=InnoDB": true,
		"CREATE TABLE `t` (`a` int) ENGINE=InnoDB `ENCRYPTED`=YES":                          false,
		"CREATE TABLE `t` (`a` int) ENGINE=InnoDB ROW_FORMAT=COMPRESSED":                    false,
		"CREATE TABLE `t` (`a` text, FULLTEXT KEY `a` (`a`)) ENGINE=InnoDB":                 false,
		"CREATE TABLE `t` (`a` int) ENGINE=InnoDB\n PARTITION BY HASH (`a`)\nPARTITIONS 2":  false,
		"CREATE TABLE `t` (`a` int) ENGINE=InnoDB DATA DIRECTORY='/x/'":                     false,
		"CREATE TABLE `t` (`a` int) ENGINE=InnoDB /*!80016 ENCRYPTION='Y' */":               false,
		"CREATE TABLE `t` (`a` int) /*!50100 TABLESPACE `ts` */ ENGINE=InnoDB":              false,
	} {
		table := Table{Name: "t", Kind: Base, Engine: "InnoDB", Create: create}
		if got := table.transportable(); got != want {
			t.Errorf("%s: %v, want %v", create, got, want)
		}
	}
}
