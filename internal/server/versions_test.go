package server

import (
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"11":                         {11, 0, 0},
		"10.11":                      {10, 11, 0},
		"10.11.19":                   {10, 11, 19},
		"10.11.19-MariaDB-0+deb12u1": {10, 11, 19},
		"11.8.9+ds-0+deb13u1":        {11, 8, 9},
		"11.8.3-MariaDB-ubu2404-log": {11, 8, 3},
		"10.6.22-18-MariaDB-log":     {10, 6, 22},
		"11.4.7-4":                   {11, 4, 7},
		"5.5.5-10.6.21-MariaDB-log":  {10, 6, 21},
		"5.5.5-m3":                   {5, 5, 5},
		"13.0.1-MariaDB":             {13, 0, 1},
		"8.0.36-28":                  {8, 0, 36},
		"8.4.6-debug":                {8, 4, 6},
		"8.0.43-cluster":             {8, 0, 43},
		"8.0.36-0ubuntu0.22.04.1":    {8, 0, 36},
		"26.7.0":                     {26, 7, 0},
		"26.10":                      {26, 10, 0},
		"26.10.0.1":                  {26, 10, 0},
		"26.10.1.0-commercial":       {26, 10, 1},
		"10.11.19 (Debian 12)":       {10, 11, 19},
		"8.0.36~rc1":                 {8, 0, 36},
	} {
		if got, err := ParseVersion(text); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                    `"" is not a number`,
		"-":                   `"" is not a number`,
		"MariaDB":             `"MariaDB" is not a number`,
		"v8.0":                `"v8" is not a number`,
		"8.":                  `"" is not a number`,
		"8..4":                `"" is not a number`,
		"8.0.36a":             `"36a" is not a number`,
		"+8.0":                `"" is not a number`,
		"8.+4":                `"" is not a number`,
		"8.0.36.x":            `"x" is not a number`,
		"26.10.0.1.2":         "too many parts",
		"8.99999999999999999": `"99999999999999999" is not a number`,
	} {
		got, err := ParseVersion(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "parse version") || got != (Version{}) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestCalendar: the months of one year come after each other, and all of them after 9.7.
func TestCalendar(t *testing.T) {
	order := []string{"8.0.42", "8.4.6", "9.7.0", "9.7.10", "26.7.0", "26.7.1", "26.10.0", "27.1.0", "28.4.0", "28.4.11"}
	for i := range order {
		for j := range order {
			a, errA := ParseVersion(order[i])
			b, errB := ParseVersion(order[j])
			if got := a.Compare(b); errA != nil || errB != nil || (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s against %s: %d, %v, %v", order[i], order[j], got, errA, errB)
			}
		}
	}
	if v, err := ParseVersion("26.10.0.3"); err != nil || v.Series() != "26.10" || v.String() != "26.10.0" {
		t.Errorf("%s, series %s, %v", v, v.Series(), err)
	}
}

func TestReads(t *testing.T) {
	for _, c := range []struct {
		server *Server
		data   Version
		reads  bool
		step   string
	}{
		{testMySQL(Version{9, 7, 4}), Version{8, 0, 42}, true, "8.4"},
		{testMySQL(Version{9, 7, 4}), Version{8, 4, 5}, true, ""},
		{testMySQL(Version{9, 7, 4}), Version{9, 1, 0}, true, ""},
		{testMySQL(Version{9, 7, 4}), Version{9, 7, 9}, true, ""},
		{testMySQL(Version{9, 7, 4}), Version{}, true, ""},
		{testMySQL(Version{8, 4, 5}), Version{8, 0, 42}, true, ""},
		{testMySQL(Version{8, 4, 5}), Version{9, 7, 4}, false, ""},
		{testMySQL(Version{8, 0, 36}), Version{8, 0, 42}, false, ""},
		{testMySQL(Version{8, 0, 42}), Version{8, 0, 36}, true, ""},
		// Only 9.7 leads to the calendar. A series that nobody knew of when this was written is an
		// innovation release: if it is not, the server refuses, and says so.
		{testMySQL(Version{26, 10, 0}), Version{8, 0, 42}, true, "8.4"},
		{testMySQL(Version{26, 10, 0}), Version{8, 4, 5}, true, "9.7"},
		{testMySQL(Version{26, 7, 0}), Version{9, 5, 2}, true, "9.7"},
		{testMySQL(Version{26, 7, 0}), Version{9, 7, 4}, true, ""},
		{testMySQL(Version{26, 10, 0}), Version{26, 7, 1}, true, ""},
		{testMySQL(Version{28, 4, 0}), Version{26, 10, 0}, true, ""},
		{testMySQL(Version{26, 10, 0}), Version{26, 10, 1}, true, ""},
		{testMySQL(Version{26, 7, 0}), Version{26, 10, 0}, false, ""},
		{testMySQL(Version{9, 7, 4}), Version{26, 7, 0}, false, ""},
		{testServer(Version{13, 0, 1}), Version{10, 6, 1}, true, ""},
		{testServer(Version{12, 3, 2}), Version{13, 0, 1}, false, ""},
		{testServer(Version{10, 11, 2}), Version{10, 11, 19}, true, ""},
		{testServer(Version{11, 8, 6}), Version{10, 6, 1}, true, ""},
		{testServer(Version{10, 11, 2}), Version{11, 4, 5}, false, ""},
	} {
		if got := c.server.Reads(c.data); got != c.reads {
			t.Errorf("%s reads data of %s: %v", c.server.Name(), c.data, got)
		}
		if got := c.server.StepTo(c.data); got != c.step {
			t.Errorf("%s on data of %s: step %q, want %q", c.server.Name(), c.data, got, c.step)
		}
	}
}
