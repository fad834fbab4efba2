package dump

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCheckSummary(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Summary
	}{
		{"empty", "", Summary{}},
		{"last line without newline", "SELECT 1;\nSELECT 2;", Summary{Statements: 2, Lines: 2}},
		{"mysqldump of a database", "/*!40101 SET NAMES utf8 */;\nDROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (a int);\n",
			Summary{Statements: 3, Lines: 3, NeedsDatabase: true}},
		{"mysqldump --databases", "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;\n\nUSE `shop`;\n" +
			"CREATE TABLE t (a int);\nUSE b2;\n",
			Summary{Statements: 4, Lines: 5, Databases: []string{"shop", "b2"}, Current: "b2"}},
		{"northwind", "DROP SCHEMA IF EXISTS `nw` ;CREATE SCHEMA IF NOT EXISTS `nw` ;USE `nw` ;INSERT INTO a VALUES (1);",
			Summary{Statements: 4, Lines: 1, Databases: []string{"nw"}, Current: "nw"}},
		{"qualified names", "CREATE TABLE IF NOT EXISTS a.t (b int);INSERT IGNORE INTO `a`.`t` VALUES (1);LOCK TABLES a.t WRITE;",
			Summary{Statements: 3, Lines: 1}},
		{"insert", "INSERT t VALUES (1);", Summary{Statements: 1, Lines: 1, NeedsDatabase: true}},
		{"lock", "LOCK TABLES `t` WRITE;", Summary{Statements: 1, Lines: 1, NeedsDatabase: true}},
		{"view of mysqldump", "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */\n/*!50001 VIEW `v` AS select 1 */;",
			Summary{Statements: 1, Lines: 3, NeedsDatabase: true}},
		{"trigger", "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER d.x BEFORE INSERT ON t FOR EACH ROW SET @a=1 */;",
			Summary{Statements: 1, Lines: 1}},
		{"accounts", "CREATE USER u; CREATE ROLE r; GRANT ALL ON *.* TO u; SET NAMES utf8;", Summary{Statements: 4, Lines: 1}},
		{"use in a string", "SELECT 'USE a'; /* USE b; */", Summary{Statements: 1, Lines: 1}},
		{"dropped again", "USE a;\nDROP DATABASE a;", Summary{Statements: 2, Lines: 2, Databases: []string{"a"}}},
		{"names in backticks", "USE `a``b`;", Summary{Statements: 1, Lines: 1, Databases: []string{"a`b"}, Current: "a`b"}},
		{"use over two lines", "USE\nshop;", Summary{Statements: 1, Lines: 2, Databases: []string{"shop"}, Current: "shop"}},
		{"whole mysqldump", "-- MySQL dump 10.13\nSELECT 1;\n-- Dump completed on 2026-01-01\n", Summary{Statements: 1, Lines: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			got, err := Check(&out, strings.NewReader(c.in), Options{})
			if err != nil {
				t.Fatal(err)
			}
			c.want.Bytes = int64(len(c.in))
			if d := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(Summary{})); d != "" {
				t.Error(d)
			}
			if out.String() != c.in {
				t.Errorf("passed on %q", out.String())
			}
		})
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestCheckReportsWriter(t *testing.T) {
	_, err := Check(brokenPipe{}, strings.NewReader("SELECT 1;"), Options{})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error = %v", err)
	}
}

// TestCheckCutAnywhere cuts a dump after every byte: each cut is an error, since
// the last line is missing.
func TestCheckCutAnywhere(t *testing.T) {
	in := "-- MariaDB dump 10.19\nSET @a='x';\nINSERT INTO `t` VALUES (1,'it\\'s'),(2,\"\");\n/* c */;\n-- Dump completed"
	for n := 22; n < len(in); n++ {
		if _, err := Check(io.Discard, strings.NewReader(in[:n]), Options{}); err == nil {
			t.Errorf("cut after %q is not seen", in[:n])
		}
	}
	if _, err := Check(io.Discard, strings.NewReader(in), Options{}); err != nil {
		t.Errorf("whole: %v", err)
	}
}

func TestCheckDoesNotAllocate(t *testing.T) {
	in := strings.Repeat("INSERT INTO `t` VALUES (1,'abc','def',2.5,NULL);\n", 10000)
	allocs := testing.AllocsPerRun(3, func() {
		if _, err := Check(io.Discard, strings.NewReader(in), Options{Buffer: 64 << 10}); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 50 {
		t.Errorf("%v allocations for 10000 statements", allocs)
	}
}

// TestCheckManyComments holds that time grows with the input. When it grew by the
// square of the comments in a buffer, this took half a minute instead of 0.1 s.
func TestCheckManyComments(t *testing.T) {
	in := strings.Repeat("-- x\n", DefaultBuffer/5) + "SELECT " + strings.Repeat("1, -- x\n", DefaultBuffer/8) + "1;"
	before := processorTime(t)
	if _, err := Check(io.Discard, strings.NewReader(in), Options{}); err != nil {
		t.Fatal(err)
	}
	if took := processorTime(t) - before; took > 5*time.Second {
		t.Errorf("%d bytes took %s", len(in), took)
	}
}

// processorTime returns what this process used so far: unlike the time that goes by,
// it does not depend on what else the machine does.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// mysqldumpLike returns about size bytes of rows in INSERT statements of up to
// statement bytes each.
func mysqldumpLike(size, statement int) []byte {
	var b bytes.Buffer
	b.WriteString("-- MySQL dump 10.13  Distrib 8.0.32\n\nCREATE TABLE `orders` (id int);\n")
	for row := 0; b.Len() < size; {
		start := b.Len()
		b.WriteString("INSERT INTO `orders` VALUES ")
		for first := true; first || b.Len()-start < statement; first = false {
			if !first {
				b.WriteByte(',')
			}
			row++
			fmt.Fprintf(&b, `(%d,'Customer number %d','2026-11-%02d 10:%02d:00',%d.%02d,NULL,'It\'s a note of some words,\nas people write them; order %x')`,
				row, row%1000, row%28+1, row%60, row%977, row%100, row*2654435761)
		}
		b.WriteString(";\n")
	}
	b.WriteString("-- Dump completed\n")
	return b.Bytes()
}

func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct {
		name      string
		statement int
	}{{"extended", 1 << 20}, {"one row", 0}} {
		b.Run(c.name, func(b *testing.B) {
			in := mysqldumpLike(64<<20, c.statement)
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if _, err := Check(io.Discard, bytes.NewReader(in), Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkScanner(b *testing.B) {
	for _, c := range []struct {
		name      string
		statement int
	}{{"extended", 1 << 20}, {"one row", 0}} {
		b.Run(c.name, func(b *testing.B) {
			in := mysqldumpLike(64<<20, c.statement)
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				s := NewScanner(bytes.NewReader(in), "")
				for {
					if _, err := s.Next(); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
