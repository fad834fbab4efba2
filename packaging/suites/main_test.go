package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// TestOneFails: a project that fails takes no line from the others, and its server goes.
func TestOneFails(t *testing.T) {
	result := runner.Result{Scenario: "suite", Title: "a suite", Unit: runner.Seconds}
	for _, name := range []string{"reload (stock, disk)", "reload (relaxed, /dev/shm)", "door (ramaria, xfs)"} {
		result.Rows = append(result.Rows, runner.Row{Name: name, Rounds: 1, Samples: []float64{2}})
	}
	var good bytes.Buffer
	if err := result.WriteJSON(&good); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	// ramaria does nothing but to save a result, and fails in one project; python3 starts a server, and fails then.
	ramaria := "#!/bin/sh\ncase $1 in\nbench)\n\tcase $PWD in */php) exit 1 ;; esac\n\tuntil [ \"$1\" = --save ]; do shift; done\n\tcp '" + dir + "/good' \"$2\" ;;\n*) echo \"$@\" >>'" + log + "' ;;\nesac\n"
	for name, text := range map[string]string{"good": good.String(), "ramaria": ramaria, "python3": "#!/bin/sh\nramaria up \"$RAMARIA_INSTANCE\"\nexit 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o := options{ramaria: filepath.Join(dir, "ramaria"), clone: "../..", out: filepath.Join(dir, "out"), only: []string{"django", "php", "rust"}}
	var table bytes.Buffer
	err := o.run(t.Context(), &table)
	if err == nil || !strings.Contains(err.Error(), "measure django: ") || !strings.Contains(err.Error(), "measure php: ") || strings.Contains(err.Error(), "rust") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(table.String(), "| Rust, sqlx | 2.00 s | 2.00 s | 2.00 s |") || strings.Contains(table.String(), "PHP") {
		t.Errorf("the table is\n%s", table.String())
	}
	said, err := os.ReadFile(log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if string(said) != "up suites\ndown suites --rm\n" {
		t.Errorf("ramaria was asked for\n%s", said)
	}
}
