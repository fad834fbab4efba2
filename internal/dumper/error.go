package dumper

import (
	"context"
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// explain is the error of a dump, with what to do about it.
func (j *job) explain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("dump instance %s: interrupted: %w", j.Name, ctx.Err())
	case err == nil || strings.Contains(err.Error(), "\nhint: "):
		return err
	case strings.Contains(err.Error(), "Unknown database"):
		return fmt.Errorf("%w\nhint: ramaria sql %s -e 'SHOW DATABASES'", err, j.Name)
	case strings.Contains(err.Error(), "(1356)"), strings.Contains(err.Error(), "(1449)"):
		return j.explainViews(ctx, err)
	case changedMeanwhile(err):
		return fmt.Errorf("%w\nhint: a table was altered, emptied or dropped while it was dumped: %s, when that is through", err, j.Again())
	}
	return err
}

// changedMeanwhile reports whether a dumper met a table that is not the one any more that its transaction saw.
func changedMeanwhile(err error) bool {
	for _, sign := range []string{"Table definition has changed", "(1412)", "(1146)", "Couldn't find table", "Couldn't read status information", "Error in field count"} {
		if strings.Contains(err.Error(), sign) {
			return true
		}
	}
	return false
}

// explainViews names the views that no dumper can read.
func (j *job) explainViews(ctx context.Context, err error) error {
	var more []string
	for _, t := range j.tables {
		if t.kind != aView || t.ignored {
			continue
		}
		broken := false
		cerr := dbconn.Query(ctx, j.db, "CHECK TABLE "+dbconn.QuoteName(t.database)+"."+dbconn.QuoteName(t.name), func(c []string) error {
			broken = broken || strings.EqualFold(c[2], "error")
			return nil
		})
		if cerr != nil || !broken {
			continue
		}
		name := t.name
		if len(j.Databases) > 1 {
			name = t.database + "." + name
		}
		more = append(more, "--ignore-table", name)
	}
	if more == nil {
		return err
	}
	return fmt.Errorf("%w\nhint: mend or drop the view; this leaves out all that are broken: %s", err, j.Again(more...))
}
