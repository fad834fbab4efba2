package parts

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dump"
)

const dumped = `/*M!999999\- enable the sandbox mode */ 
-- MariaDB dump 10.20-11.8.9-MariaDB, for Linux
--
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
INSERT INTO ` + "`a`" + ` VALUES
(1,'x;\ny');
INSERT INTO ` + "`a`" + ` VALUES (2,NULL);
/*M!101100 SET @old_system_versioning_insert_history=@@session.system_versioning_insert_history, @@session.system_versioning_insert_history=1 */;
INSERT INTO ` + "`b``c/`" + ` VALUES (3);
/*M!101100 SET system_versioning_insert_history=@old_system_versioning_insert_history */;
INSERT INTO ` + "`B_c_`" + ` VALUES (4);
INSERT INTO ` + "`later`" + ` VALUES (5);
/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;
-- Dump completed on 2026-01-01
`

// cutInto cuts a dump into a new directory, and returns the texts of its files by their names.
func cutInto(t *testing.T, text string, most int64, ending string) (map[string]string, []string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d")
	d, err := Create(path, ending, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, table := range []string{"a", "b`c/", "B_c_", "empty"} {
		d.Name("", table)
	}
	var done []string
	if err := (Rows{Dir: d, Most: most, Done: func(table string) error { done = append(done, table); return nil }}).Cut(strings.NewReader(text), "x"); err != nil {
		return nil, done, err
	}
	if err := d.Keep(); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(path, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	summed := ""
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != sumsFile {
			summed += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(files[name])), name)
		}
	}
	if diff := cmp.Diff(summed, files[sumsFile]); diff != "" {
		t.Error(diff)
	}
	delete(files, sumsFile)
	return files, done, nil
}

func TestCut(t *testing.T) {
	files, done, err := cutInto(t, dumped, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	const head = "-- MariaDB dump 10.20-11.8.9-MariaDB, for Linux\n\n/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;\n/*!40103 SET TIME_ZONE='+00:00' */;\n" +
		"/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;\n"
	const foot = "/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;\n/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */;\n\n-- Dump completed\n"
	want := map[string]string{
		"1-a.0001.sql": head + "INSERT INTO `a` VALUES\n(1,'x;\\ny');\n" + foot,
		"1-a.0002.sql": head + "INSERT INTO `a` VALUES (2,NULL);\n" + foot,
		"1-b_c_.0001.sql": head + "/*M!101100 SET @old_system_versioning_insert_history=@@session.system_versioning_insert_history, @@session.system_versioning_insert_history=1 */;\n" +
			"INSERT INTO `b``c/` VALUES (3);\n/*M!101100 SET system_versioning_insert_history=@old_system_versioning_insert_history */;\n" + foot,
		"1-B_c_~2.0001.sql": head + "INSERT INTO `B_c_` VALUES (4);\n" + foot,
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b`c/", "B_c_"}, done); diff != "" {
		t.Error(diff)
	}
	whole, _, err := cutInto(t, dumped, 1<<20, "")
	if err != nil || !strings.Contains(whole["1-a.0001.sql"], "(1,'x;\\ny');\nINSERT INTO `a` VALUES (2,NULL);") {
		t.Errorf("%v: %q", err, whole["1-a.0001.sql"])
	}
	for name, text := range whole {
		if _, err := dump.Check(io.Discard, strings.NewReader(text), dump.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCutFaults: nothing is lost in silence.
func TestCutFaults(t *testing.T) {
	for name, text := range map[string]string{
		"cut short":    dumped[:len(dumped)-40],
		"other things": strings.Replace(dumped, "INSERT INTO `later`", "REPLACE INTO `later`", 1),
	} {
		if _, _, err := cutInto(t, text, 1, ""); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDir(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, "", 0o600); err == nil || !strings.Contains(err.Error(), "not empty\nhint: ") {
		t.Errorf("a full directory: %v", err)
	}
	if _, err := Create(filepath.Join(dir, "no", "such"), "", 0o600); err == nil || !strings.Contains(err.Error(), "\nhint: mkdir -p ") {
		t.Errorf("no parent: %v", err)
	}
	d, err := Create(filepath.Join(dir, "new"), ".zst", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Schema("shop")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "SELECT 1;\n"); err != nil {
		t.Fatal(err)
	}
	d.Close()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("after an end without Keep: %v, %v", entries, err)
	}
}

// TestCreateElsewhere refuses a directory that cannot appear by a rename, before anything is dumped.
func TestCreateElsewhere(t *testing.T) {
	if _, err := Create("/proc", "", 0o600); err == nil || !strings.Contains(err.Error(), "another file system is mounted there") {
		t.Error(err)
	}
	t.Chdir(t.TempDir())
	d, err := Create(".", "", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.WriteFile("in-the-way", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Keep(); err == nil || !strings.Contains(err.Error(), "hint: something was written there meanwhile") {
		t.Error(err)
	}
}
