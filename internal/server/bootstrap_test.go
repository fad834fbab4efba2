package server

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBootstrapScript(t *testing.T) {
	// The files hold their own names, so that order and choice show.
	old := []string{"mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"}
	renamed := []string{"mariadb_system_tables.sql", "mariadb_performance_tables.sql", "mariadb_system_tables_data.sql"}
	optional := []string{"maria_add_gis_sp_bootstrap.sql", "mariadb_sys_schema.sql"}
	help := []string{"fill_help_tables.sql"}
	for name, c := range map[string]struct {
		files []string
		stage Stage
		want  []string // nil for an error
	}{
		"old names, no optional files": {old, Bootstrap, old},
		"no help texts":                {slices.Concat(old, help), Bootstrap, old},
		"help texts for stock":         {slices.Concat(help, old), Stock, slices.Concat(old, help)},
		"new names, optional files":    {slices.Concat(optional, renamed), Bootstrap, slices.Concat(renamed, optional)},
		"one is missing":               {old[:2], Bootstrap, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Server{Flavour: MariaDB, Share: t.TempDir()}
			for _, file := range c.files {
				if err := os.WriteFile(filepath.Join(s.Share, file), []byte(file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			script, err := s.bootstrapScript(c.stage)
			if c.want == nil {
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("got %q, %v", script, err)
				}
				return
			}
			if diff := cmp.Diff(bootstrapHead+strings.Join(c.want, "\n")+"\n", script); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}
