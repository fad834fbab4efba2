package tests

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

//go:embed testdata/everything.sql
var everythingSQL string

// everything returns a dump with one of everything, and some thousand rows.
func everything(srv *server.Server) string {
	const keepers, animals, fed = 40, 900, 3000
	r := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- the same at each run
	var b strings.Builder
	b.WriteString("LOCK TABLES `keeper` WRITE;\nINSERT INTO `keeper` (`id`, `name`, `boss`, `wage`, `shift`, `hired`) VALUES\n")
	for i := 1; i <= keepers; i++ {
		boss := "NULL"
		if i > 1 {
			boss = fmt.Sprint(1 + r.IntN(i-1))
		}
		fmt.Fprintf(&b, "%s(%d,'K%dä',%s,%d.%02d,'dawn,night','20%02d-0%d-1%d')", comma(i), i, i, boss, r.IntN(99999), r.IntN(100), r.IntN(30), 1+r.IntN(9), r.IntN(10))
	}
	b.WriteString(";\nUNLOCK TABLES;\nINSERT INTO `animal` (`id`, `keeper`, `name`, `kind`, `born`, `seen`, `weight`, `cage`, `about`, `facts`, `photo`, `flags`) VALUES\n")
	for i := 1; i <= animals; i++ {
		photo := make([]byte, r.IntN(2000))
		if i == 7 {
			photo = make([]byte, 300<<10) // on pages of its own
		}
		for j := range photo {
			photo[j] = byte(r.Uint32())
		}
		fmt.Fprintf(&b, `%s(%d,%d,'%s','don''t know','19%02d-12-31 23:59:59.%06d','2020-01-01 00:00:%02d',%g,ST_GeomFromText('POINT(%d %d)'),'a; b\n-- c\t\\ %s','{"legs": %d, "n": ["ä", null, 1.5]}',0x00%x,b'%b')`,
			comma(i), i, 1+r.IntN(keepers), []string{"Łoś", "🐘", `O\'Hare`, "", `\\`, "a;b"}[i%6], r.IntN(100), r.IntN(1000000), r.IntN(60),
			float64(r.IntN(1000000))/64, r.IntN(180)-90, r.IntN(90), strings.Repeat("word ", r.IntN(40)), r.IntN(9), photo, r.IntN(4096))
	}
	b.WriteString(";\nSET autocommit=0;\n")
	for i := range fed {
		fmt.Fprintf(&b, "INSERT IGNORE INTO `feeding` VALUES ('%04d-%02d-%02d',%d,%d);\n", 1990+r.IntN(50), 1+r.IntN(12), 1+r.IntN(28), 1+r.IntN(animals), r.IntN(999))
		fmt.Fprintf(&b, "INSERT INTO `ticket` VALUES (%d,%d.5);\n", i, r.IntN(50))
	}
	b.WriteString("COMMIT;\nSET autocommit=1;\n")
	return strings.Replace(strings.Join(dialect(srv, strings.SplitAfter(everythingSQL, "\n")...), ""), "-- ROWS\n", b.String(), 1)
}

// comma separates rows.
func comma(i int) string {
	if i == 1 {
		return ""
	}
	return ",\n"
}
