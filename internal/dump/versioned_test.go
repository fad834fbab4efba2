package dump_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/server"
)

func runs(t *testing.T, flavour server.Flavour, version string) dump.Runs {
	t.Helper()
	v, err := server.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	return (&server.Server{Flavour: flavour, Version: v}).RunsComment
}

// TestMeant reads versioned comments as servers do of which most cannot be run here; 10.11, 11.8 and 9.7 were asked.
func TestMeant(t *testing.T) {
	for _, tt := range []struct {
		text string
		// mariadb and mysql are the versions that run it, of those below.
		mariadb, mysql string
	}{
		{"/*!40101 + 1 */", "10.6 10.11 11.8 12.3 13.1", "5.7 8.0 8.4 9.7 26.7 26.10"},
		{"/*! + 1 */", "10.6 10.11 11.8 12.3 13.1", "5.7 8.0 8.4 9.7 26.7 26.10"},
		{"/*!50699 + 1 */", "10.6 10.11 11.8 12.3 13.1", "5.7 8.0 8.4 9.7 26.7 26.10"},
		{"/*!50700 + 1 */", "", "5.7 8.0 8.4 9.7 26.7 26.10"},
		{"/*!80023 + 1 */", "", "8.4 9.7 26.7 26.10"},
		{"/*!080023 + 1 */", "", "8.4 9.7 26.7 26.10"},
		{"/*!90700 + 1 */", "", "9.7 26.7 26.10"},
		{"/*!99999 + 1 */", "", "26.7 26.10"},
		{"/*!100100 + 1 */", "10.6 10.11 11.8 12.3 13.1", "26.7 26.10"},
		{"/*!120300 + 1 */", "12.3 13.1", "26.7 26.10"},
		{"/*!260700 + 1 */", "", "26.7 26.10"},
		{"/*!261000 + 1 */", "", "26.10"},
		{"/*M!100616 + 1 */", "10.11 11.8 12.3 13.1", ""},
		{"/*M!130100 + 1 */", "13.1", ""},
		{"/*M!50700 + 1 */", "10.6 10.11 11.8 12.3 13.1", ""},
		{"/*M! + 1 */", "10.6 10.11 11.8 12.3 13.1", ""},
		{"/*!999999 + 1 */", "", ""},
		{"/*M!999999 + 1 */", "", ""},
	} {
		for _, flavour := range []server.Flavour{server.MariaDB, server.MySQL} {
			versions, want := "10.6 10.11 11.8 12.3 13.1", tt.mariadb
			if flavour == server.MySQL {
				versions, want = "5.7 8.0 8.4 9.7 26.7 26.10", tt.mysql
			}
			var got []string
			for _, v := range strings.Fields(versions) {
				s := dump.NewScanner(strings.NewReader(""), "")
				s.For(runs(t, flavour, v))
				if strings.Contains(string(s.Meant([]byte("SELECT 1 "+tt.text))), "+ 1") {
					got = append(got, v)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %s %v, want %s", tt.text, flavour, got, want)
			}
		}
	}
}

func TestMeantLeaves(t *testing.T) {
	for text, want := range map[string]string{
		"/*!40101 SET @a = 1 */":             "         SET @a = 1   ",
		"/*!80000 SET @a = 1 */":             "                      ",
		"SELECT '/*!80000 x */', `/*! y */`": "SELECT '/*!80000 x */', `/*! y */`",
		"SELECT 1 -- /*! x */\n/*! + 1 */":   "SELECT 1 -- /*! x */\n    + 1   ",
		"SELECT 1 # /*! x\n + 1":             "SELECT 1 # /*! x\n + 1",
		"SELECT 1 /* /*! x */ + 1":           "SELECT 1 /* /*! x */ + 1",
		"SELECT 1 /*!80000 a\nb */ + 1":      "SELECT 1           \n     + 1",
		"SELECT 1 /*!401011*/":               "SELECT 1            ",
		"SELECT 2 */ 3 /*! + 1 */":           "SELECT 2 */ 3     + 1   ",
		"SELECT 1 /*! + 1":                   "SELECT 1 /*! + 1",
		"SELECT 1 /*!80000 + 1":              "SELECT 1             ",
	} {
		s := dump.NewScanner(strings.NewReader(""), "")
		s.For(runs(t, server.MariaDB, "10.11"))
		if d := cmp.Diff(want, string(s.Meant([]byte(text)))); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}

// TestScannerForServer has a backslash that escapes only for a server that did not run what stands before.
func TestScannerForServer(t *testing.T) {
	const text = "/*!80000 SET sql_mode = 'NO_BACKSLASH_ESCAPES' */;\nSELECT 'a\\';\nSELECT 'b';\n"
	for server, want := range map[*server.Server]int{
		{Flavour: server.MySQL, Version: server.Version{Major: 9, Minor: 7}}:    3,
		{Flavour: server.MariaDB, Version: server.Version{Major: 11, Minor: 8}}: 1, // the string goes on to the end
	} {
		s := dump.NewScanner(strings.NewReader(text), "")
		s.For(server.RunsComment)
		got := 0
		var err error
		for ; err == nil; got++ {
			_, err = s.Next()
		}
		if got-1 != want {
			t.Errorf("%s: %d statements, want %d: %v", server.Name(), got-1, want, err)
		}
	}
}
