package datafiles

import "testing"

func TestDecode(t *testing.T) {
	for name, want := range map[string]string{
		"orders":               "orders",
		"my@002dshop":          "my-shop",
		"order@0020items@20ac": "order items€",
		"my@002dshop@0020@0k":  "my-shop ä",
		"a@0024b":              "a$b",
		"@0G@0g":               "Àà",
		"@6ce8@6587":           "注文",
		"not-encoded":          "#mysql50#not-encoded",
		"cut@00":               "#mysql50#cut@00",
		"@zzzz":                "#mysql50#@zzzz",
		"":                     "",
		"\xff":                 "#mysql50#?",
	} {
		if got := Decode(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestIdentify(t *testing.T) {
	for _, c := range []struct{ sub, file, want string }{
		{"shop", "orders.ibd", "shop.orders"},
		{"shop", "orders.frm", "shop.orders"},
		{"shop", "orders.MYD", "shop.orders"},
		{"shop", "orders.MAI", "shop.orders"},
		{"shop", "m_389.sdi", "shop.m"},
		{"shop", "m_2_389.sdi", "shop.m_2"},
		{"shop", "p#P#p0.ibd", "shop.p"},
		{"shop", "sp#p#p0#sp#p0sp1.ibd", "shop.sp"},
		{"my@002dshop", "order@0020items.ibd", "`my-shop`.`order items`"},
		{"shop", "a@0060b.ibd", "shop.`a``b`"},
		{"2026", "1.ibd", "`2026`.`1`"},
		{"shop", "@5be2@5171.ibd", "shop.寢共"},
		{"shop", "#sql-ib1061-2811.ibd", "ALTER in shop"},
		{"shop", "#sql-alter-1a-5.frm", "ALTER in shop"},
		{"shop", "#sql-5f2_8#p#p0.ibd", "ALTER in shop"},
		{"shop", "FTS_0000000000000013_000000000000001f_INDEX_1.ibd", "full-text indexes of shop"},
		{"shop", "fts_0000000000000428_being_deleted.ibd", "full-text indexes of shop"},
		{"shop", "fts_of_mine_with_a_long_name.ibd", "shop.fts_of_mine_with_a_long_name"},
		{"shop", "db.opt", "other files"},
		{"#innodb_redo", "#ib_redo36", "redo log"},
		{"#innodb_temp", "temp_1.ibt", "temporary tables"},
		{"#rocksdb", "000010.sst", "RocksDB"},
		{"", "ib_logfile0", "redo log"},
		{"", "ibdata1", "system tablespace"},
		{"", "ibtmp1", "temporary tables"},
		{"", "mysql.ibd", "data dictionary"},
		{"", "undo_001", "undo tablespaces"},
		{"", "undo001", "undo tablespaces"},
		{"", "u3.ibu", "undo tablespaces"},
		{"", "ts-1.ibd", "tablespace `ts-1`"},
		{"", "big.ibd", "tablespace big"},
		{"", "#ib_16384_0.dblwr", "doublewrite buffer"},
		{"", "ramaria-bin.000007", "binary log"},
		{"", "ramaria-bin.index", "binary log"},
		{"", "host-relay-bin.000007", "binary log"},
		{"", "aria_log.00000001", "Aria log"},
		{"", "auto.cnf", "other files"},
		{"", "database", "other files"},
	} {
		if got := Identify(c.sub, c.file, "ramaria-bin").String(); got != c.want {
			t.Errorf("%s/%s: %s, want %s", c.sub, c.file, got, c.want)
		}
	}
}
