package load

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJoins(t *testing.T) {
	for text, want := range map[string]bool{
		"SET NAMES utf8mb4":         true,
		"set @a = 'x', sql_mode=''": true,
		"/*!40101 SET @a = 1 */":    false, // Scanner.Meant leaves no marks
		"SET @a = 1 */":             false,
		"SET @a = 1 -- behind":      false,
		"SET @a = 1 # behind":       false,
		"SET @a = 1 /* in it */":    false,
		`SET @a = 'it\'s'`:          false, // if backslashes escape
		"SET @a = 'ä'":              false,
		"SET @a = ';'":              false,
		"SELECT 1":                  false,
		"/*!40101 SELECT 1 */":      false,
		"":                          false,
	} {
		if got := (setting{text: text}).joins(); got != want {
			t.Errorf("%s: joins %v", text, got)
		}
	}
}

func TestUntold(t *testing.T) {
	sets := []setting{{text: "SET a"}, {text: "SET bb"}, {text: "/*!50717 SET c */"}, {text: "SET dd"}, {text: "SET ee"}}
	s := &session{told: 1}
	if diff := cmp.Diff([]string{"SET bb", "/*!50717 SET c */", "SET dd;\nSET ee;\nSELECT 1"}, s.untold(sets, "SELECT 1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"SELECT 1"}, s.untold(sets, "SELECT 1")); diff != "" {
		t.Error("told twice: " + diff)
	}
	large := setting{text: "SET @a = '" + strings.Repeat("x", maxJoined/2) + "'"}
	if got := (&session{}).untold([]setting{large, large, large}, "SELECT 1"); len(got) != 3 {
		t.Errorf("%d texts", len(got))
	}
}
