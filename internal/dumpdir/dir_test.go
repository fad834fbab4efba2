package dumpdir

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	oldMeta = "Started dump at: 2020-01-01 00:00:00\n\nFinished dump at: 2020-01-01 00:00:01\n"
	newMeta = "# Started dump at: 2026-01-01 00:00:00\n[config]\nquote-character = BACKTICK\n\n[myloader_session_variables]\nSQL_MODE='ANSI,NO_AUTO_CREATE_USER' /*!40101\n\n" +
		"[`shop`.`item`]\nreal_table_name=item\nrows = 3\n\n[`shop`.`mydumper_1`]\nreal_table_name=a.b\nrows = 2\n# Finished dump at: 2026-01-01 00:00:01\n"
	create  = "CREATE DATABASE `shop`;\n"
	about   = `{"schemas":["shop"],"basenames":{"shop":"shop"},"defaultCharacterSet":"utf8mb4","tzUtc":true}`
	schema  = `{"includesDdl":true,"tables":["item"],"views":[],"basenames":{"item":"shop@item"}}`
	table   = `{"options":{"columns":["id"],"fieldsTerminatedBy":"\t","fieldsEscapedBy":"\\","linesTerminatedBy":"\n"},"extension":"tsv.zst","chunking":true}`
	loadDat = "LOAD DATA LOCAL INFILE 'shop.item.00000.dat' REPLACE INTO TABLE `item` CHARACTER SET binary FIELDS TERMINATED BY ',' ENCLOSED BY '\"' ESCAPED BY '\\\\' LINES STARTING BY '' TERMINATED BY '\\n' IGNORE 1 LINES (`id`,@b)SET `b`=UNHEX(@b);\n"
)

// make writes files, by their names.
func made(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// with returns files and more, of which one without a text is taken away.
func with(files map[string]string, more ...string) map[string]string {
	all := map[string]string{}
	for k, v := range files {
		all[k] = v
	}
	for i := 0; i < len(more); i += 2 {
		if all[more[i]] = more[i+1]; more[i+1] == "" {
			delete(all, more[i])
		}
	}
	return all
}

var (
	mydumperFiles = map[string]string{
		"metadata": newMeta, "shop-schema-create.sql": create, "shop.item-schema.sql": "CREATE TABLE `item` (id INT);\n", "shop.item.00000.sql": "INSERT INTO `item` VALUES(1);\n",
	}
	shellFiles = map[string]string{
		"@.json": about, "@.done.json": `{"tableRows":{"shop":{"item":7}}}`, "@.sql": "", "shop.json": schema, "shop.sql": create, "shop@item.json": table, "shop@item.sql": "CREATE TABLE item (id INT);",
		"shop@item@0.tsv.zst": "", "shop@item@0.tsv.zst.idx": "", "shop@item@@1.tsv.zst": "",
	}
	tabFiles = map[string]string{"item.sql": "CREATE TABLE `item` (id INT, n INT);\n", "item.txt": "1\t2\n"}
)

// TestLayouts reads directories: which files are loaded, in which order.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // files, and the tables of those with rows
	}{
		{"mydumper", mydumperFiles, "shop-schema-create.sql shop.item-schema.sql shop.item.00000.sql"},
		{"mydumper 0.9", with(mydumperFiles, "metadata", oldMeta, "shop.item.00000.sql", "", "shop.item.sql", "x"), "shop-schema-create.sql shop.item-schema.sql shop.item.sql"},
		{"mydumper, parts of parts in the order of numbers", with(mydumperFiles, "shop.item.00002.sql", "x", "shop.item.00010.sql", "x", "shop.item.00002.00001.sql", "x", "shop.item-checksum", "1"),
			"shop-schema-create.sql shop.item-schema.sql shop.item.00000.sql shop.item.00002.sql shop.item.00002.00001.sql shop.item.00010.sql"},
		{"mydumper, packed", with(mydumperFiles, "shop.item.00000.sql", "", "shop.item.00000.sql.zst", "x", "shop.item-schema.sql", "", "shop.item-schema.sql.gz", "x"), "shop-schema-create.sql shop.item-schema.sql.gz shop.item.00000.sql.zst"},
		{"mydumper, all kinds", with(mydumperFiles, "shop.s-schema-sequence.sql", "x", "shop-schema-post.sql", "x", "shop.item-schema-triggers.sql", "x", "shop.v-schema.sql", "x", "shop.v-schema-view.sql", "x"),
			"shop-schema-create.sql shop.s-schema-sequence.sql shop.item-schema.sql shop.v-schema.sql shop.item.00000.sql shop-schema-post.sql shop.item-schema-triggers.sql shop.v-schema-view.sql"},
		{"mydumper, a view behind the one that it reads", with(mydumperFiles, "shop.a-schema-view.sql", "CREATE VIEW `a` AS SELECT 1 FROM `z`;\n", "shop.z-schema-view.sql", "CREATE VIEW `z` AS SELECT 1;\n"),
			"shop-schema-create.sql shop.item-schema.sql shop.item.00000.sql shop.z-schema-view.sql shop.a-schema-view.sql"},
		{"mydumper, a file of rows", with(mydumperFiles, "shop.item.00000.sql", loadDat, "shop.item.00000.dat", "x"), "shop-schema-create.sql shop.item-schema.sql shop.item.00000.dat=item"},
		{"mydumper, a packed file of rows", with(mydumperFiles, "shop.item.00000.sql", loadDat, "shop.item.00000.dat.zst", "x"), "shop-schema-create.sql shop.item-schema.sql shop.item.00000.dat.zst=item"},
		{"mydumper, no schema", map[string]string{"metadata": oldMeta, "shop.item.sql": "x"}, "shop-schema-create.sql shop.item.sql"},
		{"mydumper, a table with a dot", with(mydumperFiles, "shop.a.1-schema.sql", "x", "shop.a.1.sql", "x", "shop.a.1.00003.sql", "x"), "shop-schema-create.sql shop.a.1-schema.sql shop.item-schema.sql shop.a.1.sql shop.a.1.00003.sql shop.item.00000.sql"},
		{"MySQL Shell", shellFiles, "@.sql shop.sql shop@item.sql shop@item@0.tsv.zst=item shop@item@@1.tsv.zst=item"},
		{"MySQL Shell, partitions", with(shellFiles, "shop@item.json", strings.Replace(table, `"chunking"`, `"basenames":{"p0":"shop@item@p0","p1":"shop@item@p1"},"chunking"`, 1), "shop@item@p0@@0.tsv.zst", "x", "shop@item@p1@0.tsv.zst", "x", "shop@item@p1@@1.tsv.zst", "x"),
			"@.sql shop.sql shop@item.sql shop@item@p0@@0.tsv.zst=item shop@item@p1@0.tsv.zst=item shop@item@p1@@1.tsv.zst=item"},
		{"MySQL Shell, one file", with(shellFiles, "shop@item.json", `{"extension":"tsv","options":{}}`, "shop@item.tsv", "x"), "@.sql shop.sql shop@item.sql shop@item.tsv=item"},
		{"MySQL Shell, odd names", with(shellFiles, "shop.json", `{"tables":["a b"],"views":["v@1"]}`, "shop@a%20b.json", table, "shop@a%20b.sql", "x", "shop@a%20b@@0.tsv.zst", "x", "shop@v%401.sql", "x", "shop@v%401.pre.sql", "x", "shop@a%20b.triggers.sql", "x"),
			"@.sql shop.sql shop@a%20b.sql shop@v%401.pre.sql shop@a%20b@@0.tsv.zst=a b shop@a%20b.triggers.sql shop@v%401.sql"},
		{"MySQL Shell, no rows", with(shellFiles, "shop@item.json", `{"includesData":false}`), "@.sql shop.sql shop@item.sql"},
		{"MySQL Shell, rows only", with(shellFiles, "shop.json", `{"includesDdl":false,"tables":["item"],"views":["v"]}`, "shop@item.json", strings.Replace(table, "{", `{"includesDdl":false,`, 1), "shop.sql", "", "shop@item.sql", ""), "@.sql shop.sql shop@item@0.tsv.zst=item shop@item@@1.tsv.zst=item"},
		{"--tab", tabFiles, "item.sql item.txt=item"},
		{"--tab, triggers and views last", with(tabFiles, "item.sql", "CREATE TABLE `item` (id INT);\nCREATE TRIGGER t BEFORE INSERT ON item FOR EACH ROW SET @a = 1;\n", "a.sql", "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50001 VIEW `a` AS select 1 from `z` */;\n", "z.sql", "/*!50001 CREATE VIEW `z` AS select 1 */;\n"),
			"item.sql item.txt=item item.sql z.sql a.sql"},
		{"--dir", map[string]string{"one/item.sql": "CREATE TABLE `item` (id INT);\n", "one/item.txt": "1\n", "a@0020b/x.sql": "CREATE TABLE `x` (id INT);\n", "a@0020b/x.txt": ""}, "a@0020b a@0020b/x.sql one one/item.sql a@0020b/x.txt=x one/item.txt=item"},
		{"dumps that stand for themselves", map[string]string{"a.sql": "x", "b.sql": "x", "sub/c.sql": "x", "sub/c.txt": "x"}, ""},
		{"a dump beside a text about it", map[string]string{"shop.sql": "CREATE TABLE `a` (id INT);\nINSERT INTO `a` VALUES (1);\n", "shop.txt": "about it\n"}, ""},
		{"--tab, packed by bzip2", with(tabFiles, "b.sql", "CREATE TABLE `b` (id INT) ENGINE=InnoDB;\n", "b.txt.bz2", "BZh9\x17rE8P\x90\x00\x00\x00\x00"), "b.sql item.sql b.txt.bz2=b item.txt=item"},
		{"nothing", map[string]string{"x": ""}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Open(made(t, c.files), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if d != nil {
				defer d.Close()
				for _, p := range d.Parts {
					name := strings.TrimPrefix(p.File, "d/")
					if p.Rows != nil {
						name += "=" + p.Rows.Table
					}
					got = append(got, name)
				}
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLayoutFaults refuses what is not whole, and names that lead out.
func TestLayoutFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"mydumper that was broken off", with(mydumperFiles, "metadata", "", "metadata.partial", "# Started dump at: "), "d/metadata: the dump has not ended"},
		{"mydumper without an end", with(mydumperFiles, "metadata", "# Started dump at: 2026\n"), `d/metadata: the dump has not ended: the line "Finished dump at" is missing`},
		{"a part of a part is missing", with(mydumperFiles, "shop.item.00000.00002.sql", "x"), "d/shop.item.00000.00002.sql: the file that comes before it is missing"},
		{"the first of them is missing", with(mydumperFiles, "shop.item.00004.00001.sql", "x"), "d/shop.item.00004.00001.sql: the file that comes before it is missing"},
		{"a database without a name", with(mydumperFiles, "mydumper_0.t-schema.sql", "x"), "d/mydumper_0-schema-create.sql: the file is not there, which says what database mydumper_0 is"},
		{"rows without a statement", with(mydumperFiles, "shop.item.00001.dat", "x"), "d/shop.item.00001.dat: the file that says which table its rows are of is missing"},
		{"rows that are not there", with(mydumperFiles, "shop.item.00000.sql", strings.Replace(loadDat, "00000", "00009", 1), "shop.item.00000.dat", "x"), "d/shop.item.00000.sql:1: LOAD DATA names the file shop.item.00009.dat, which is not there"},
		{"rows outside", with(mydumperFiles, "shop.item.00000.sql", strings.Replace(loadDat, "shop", "/etc/", 1), "shop.item.00000.dat", "x"), "which a load never reads"},
		{"another statement beside rows", with(mydumperFiles, "shop.item.00000.sql", "DELETE FROM x;\n", "shop.item.00000.dat", "x"), "d/shop.item.00000.sql:1: beside a file of rows there is a statement that is no LOAD DATA"},
		{"MySQL Shell has not ended", with(shellFiles, "@.done.json", ""), "d/@.done.json: the dump has not ended"},
		{"MySQL Shell, a gap", with(shellFiles, "shop@item@0.tsv.zst", ""), "d/shop@item@0.tsv.zst: the file is not there"},
		{"MySQL Shell, no last file", with(shellFiles, "shop@item@@1.tsv.zst", ""), "d/shop@item@1.tsv.zst: the file is not there, nor the last one"},
		{"MySQL Shell, no table", with(shellFiles, "shop@item.sql", ""), "d/shop@item.sql: the file is not there, which makes table item"},
		{"MySQL Shell, no schema", with(shellFiles, "shop.sql", ""), "d/shop.sql: the file is not there, which makes the schema"},
		{"MySQL Shell, no triggers", with(shellFiles, "shop@item.json", strings.Replace(table, "{", `{"triggers":["t"],`, 1)), "d/shop@item.triggers.sql: the file is not there"},
		{"MySQL Shell, a file of the list", with(shellFiles, "@.done.json", `{"chunkFileBytes":{"shop@item@7.tsv.zst":3}}`), "d/shop@item@7.tsv.zst: the file is not there, which @.done.json names"},
		{"MySQL Shell, outside", with(shellFiles, "@.json", strings.Replace(about, `"shop":"shop"`, `"shop":"../shop"`, 1)), "d: a name in it leads out of the directory: ../shop.json"},
		{"MySQL Shell, broken", with(shellFiles, "shop.json", "{"), "d/shop.json: the file cannot be read"},
		{"MySQL Shell, decoded by something", with(shellFiles, "shop@item.json", strings.Replace(table, `"columns":["id"]`, `"columns":["id"],"decodeColumns":{"id":"SLEEP"}`, 1)), "column id is to be decoded by SLEEP"},
		{"--tab, a table without rows", with(tabFiles, "b.sql", "CREATE TABLE `b` (id INT) ENGINE=InnoDB;\n"), "d/b.txt: the file is not there, and would have the rows of table b"},
		{"--tab, a table that is not made", with(tabFiles, "b.sql", " ", "b.txt", "1\n"), "d/b.sql: it does not make one table, whose rows would lie in b.txt"},
		{"--tab, a dump beside a text", with(tabFiles, "b.sql", "CREATE TABLE `b` (id INT);\nINSERT INTO `b` VALUES (1);\n", "b.txt", "about b\n"), "d/b.sql: it does not make one table"},
		{"--tab, rows without a table", with(tabFiles, "other.txt", "1\n"), "d/other.txt: the file other.sql is missing, which makes its table"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Open(made(t, c.files), io.Discard)
			if err == nil {
				d.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestLoadDataOptions reads what a statement says of a file of rows.
func TestLoadDataOptions(t *testing.T) {
	dir := made(t, with(mydumperFiles, "shop.item.00000.sql", loadDat, "shop.item.00000.dat", "x"))
	d, err := Open(dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p := d.Parts[len(d.Parts)-1]
	r := p.Rows
	if r.Skip != 1 || r.Lines.Fields != "," || r.Lines.Lines != "\n" || r.Lines.Enclosed != '"' || r.Lines.Escaped != '\\' {
		t.Errorf("%+v", r)
	}
	if r.Columns != "(`id`,@b)SET `b`=UNHEX(@b)" || strings.Contains(r.Options, "IGNORE") || !strings.HasPrefix(r.Options, "CHARACTER SET binary FIELDS") {
		t.Errorf("%q %q", r.Options, r.Columns)
	}
	if mode := "SET sql_mode = 'ANSI,NO_AUTO_VALUE_ON_ZERO'"; !strings.Contains(strings.Join(p.Settings, "\n"), mode) {
		t.Errorf("%q, want %s", p.Settings, mode)
	}
	if len(d.Counts) != 2 || d.Counts[1].Table != "a.b" || d.Counts[1].Rows != 2 {
		t.Errorf("%+v", d.Counts)
	}
}

// TestHeader passes over a line of names.
func TestHeader(t *testing.T) {
	for text, want := range map[string]int{"id\tn\n1\t2\n": 1, "1\t2\n": 0, "": 0, "id\n": 0} {
		d, err := Open(made(t, with(tabFiles, "item.txt", text)), io.Discard)
		if text == "" {
			d, err = Open(made(t, map[string]string{"item.sql": tabFiles["item.sql"], "item.txt": ""}), io.Discard)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Parts[1].Rows.Skip; got != want {
			t.Errorf("%q: %d lines are passed over, want %d", text, got, want)
		}
		d.Close()
	}
}

// TestFilesOutside opens no link that leads out.
func TestFilesOutside(t *testing.T) {
	dir := made(t, with(shellFiles, "shop@item@0.tsv.zst", ""))
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "shop@item@0.tsv.zst")); err != nil {
		t.Fatal(err)
	}
	if d, err := Open(dir, io.Discard); err == nil {
		d.Close()
		t.Error("a link that leads out is read")
	}
	dir = made(t, with(tabFiles, "b.sql", "CREATE TABLE `b` (id INT);\n"))
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "b.txt")); err != nil {
		t.Fatal(err)
	}
	if d, err := Open(dir, io.Discard); err == nil || !strings.Contains(err.Error(), "d/b.txt: it is a link out of the directory, or to nothing") {
		if d != nil {
			d.Close()
		}
		t.Errorf("a link that leads out is passed over: %v", err)
	}
	dir = made(t, with(tabFiles, "item.txt", ""))
	if err := os.Symlink("item.sql", filepath.Join(dir, "item.txt")); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir, io.Discard)
	if err != nil || d == nil {
		t.Fatalf("a link inside is not read: %v", err)
	}
	d.Close()
}

// TestTabTimes reads times in UTC where the head of a table's file says that they are.
func TestTabTimes(t *testing.T) {
	for head, want := range map[string]bool{"/*!40103 SET TIME_ZONE='+00:00' */;\n": true, "": false} {
		d, err := Open(made(t, with(tabFiles, "item.sql", head+"CREATE TABLE `item` (id INT);\n")), io.Discard)
		if err != nil || d == nil {
			t.Fatal(err)
		}
		rows := d.Parts[len(d.Parts)-1]
		if utc := slices.Contains(rows.Settings, inUTC); rows.Rows == nil || utc != want || slices.Contains(d.Notes, localTimes) == want {
			t.Errorf("head %q: %v, %v", head, rows.Settings, d.Notes)
		}
		d.Close()
	}
}
