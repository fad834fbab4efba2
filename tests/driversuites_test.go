package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// driverSuites are what docs/front.md calls the suites of tests/drivers/suites.
var driverSuites = map[string]string{
	"connector-j": "MariaDB's Connector/J", "go-sql-driver": "go-sql-driver", "mysql_async": "mysql_async", "mysqlclient": "mysqlclient", "pdo_mysql": "PDO",
}

// TestDriverSuites: docs/front.md names the suites that make test-drivers runs, and no others.
func TestDriverSuites(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "front.md"))
	if err != nil {
		t.Fatal(err)
	}
	sentence := regexp.MustCompile("`make test-drivers` runs the suites of ([^.]*)\\.").FindStringSubmatch(string(page))
	if sentence == nil {
		t.Fatal("docs/front.md does not say which suites there are")
	}
	named := regexp.MustCompile(`, | and `).Split(strings.Join(strings.Fields(sentence[1]), " "), -1)
	files, err := filepath.Glob(filepath.Join("drivers", "suites", "*.sh"))
	if err != nil {
		t.Fatal(err)
	}
	var run []string
	for _, file := range files {
		run = append(run, driverSuites[strings.TrimSuffix(filepath.Base(file), ".sh")])
	}
	slices.Sort(named)
	slices.Sort(run)
	if diff := cmp.Diff(run, named); diff != "" {
		t.Errorf("-what is run +what docs/front.md names:\n%s", diff)
	}
}
