package scenario

import (
	"context"
	"errors"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// cloneRow makes databases from a template; dropping them is not measured.
func cloneRow(f *lab.TemplateServer, name, template, base string) runner.Case {
	last := ""
	drop := func(ctx context.Context) error {
		if last == "" {
			return nil
		}
		err := f.API.DropDatabase(ctx, last)
		last = ""
		return err
	}
	return runner.Case{
		Name: name, Ours: true, Base: base, Settings: "ramaria's settings, in RAM, HTTP API",
		Prepare: func(ctx context.Context) error { return f.AddTemplate(ctx, template) },
		Round: func(ctx context.Context) (s runner.Sample, err error) {
			for range cloneCycles {
				if err := drop(ctx); err != nil {
					return runner.Sample{}, err
				}
				if last, err = f.TimeLease(ctx, template, &s); err != nil {
					return runner.Sample{}, err
				}
			}
			return s, nil
		},
		Check: func(ctx context.Context) error {
			return errors.Join(f.CheckClone(ctx, last, template), drop(ctx))
		},
		Cleanup: f.Stop,
	}
}

// spareRow takes a lease of a template that the pool has ready, and ends it.
func spareRow(f *lab.TemplateServer, name, template string) runner.Case {
	return runner.Case{
		Name: name, Ours: true, Base: RowClone, Settings: "ramaria's settings, in RAM, HTTP API; spare clones made ahead",
		Prepare: func(ctx context.Context) error { return f.AddTemplate(ctx, template) },
		Round: func(ctx context.Context) (s runner.Sample, err error) {
			if err := f.SetLimits(ctx, client.Limits{MaxDatabases: 64, Spare: 2}); err != nil {
				return runner.Sample{}, err
			}
			for range leaseCycles {
				if err := f.WaitForSpare(ctx, template, lab.SpareTimeout); err != nil {
					return runner.Sample{}, err
				}
				name, err := f.TimeLease(ctx, template, &s)
				if err != nil {
					return runner.Sample{}, err
				}
				if err := f.CheckClone(ctx, name, template); err != nil {
					return runner.Sample{}, err
				}
				if err := f.API.DropDatabase(ctx, name); err != nil {
					return runner.Sample{}, err
				}
			}
			// Work in the background would disturb the others.
			return s, f.SetLimits(ctx, client.Limits{MaxDatabases: 64})
		},
		Cleanup: f.Stop,
	}
}

// fillRow is the least that a copy of a database takes: the rows of its tables, one
// INSERT ... SELECT for each, without foreign keys and without the binary log.
func fillRow(f *lab.TemplateServer, name, template string) runner.Case {
	const copied = "by_hand"
	var tables []string
	return runner.Case{
		Name: name, Base: name, Settings: "into empty tables, in RAM, one session",
		Prepare: func(ctx context.Context) (err error) {
			if err := f.AddTemplate(ctx, template); err != nil {
				return err
			}
			tables, err = lab.BaseTables(ctx, f.DB, template)
			return err
		},
		Round: func(ctx context.Context) (s runner.Sample, err error) {
			db, err := f.Lab.Server.Dialect().OpenUnlogged(f.Instance.Socket(), f.Instance.Supervisor)
			if err != nil {
				return runner.Sample{}, err
			}
			defer db.Close()
			empty := "DROP DATABASE IF EXISTS " + copied + "; CREATE DATABASE " + copied
			var fill []string
			for _, t := range tables {
				own, of := copied+"."+dbconn.QuoteName(t), template+"."+dbconn.QuoteName(t)
				empty += "; CREATE TABLE " + own + " LIKE " + of
				fill = append(fill, "INSERT INTO "+own+" SELECT * FROM "+of)
			}
			for range cloneCycles {
				if _, err := db.ExecContext(ctx, empty); err != nil {
					return runner.Sample{}, err
				}
				began := time.Now()
				for _, statement := range fill {
					if _, err := db.ExecContext(ctx, statement); err != nil {
						return runner.Sample{}, err
					}
				}
				s.Values = append(s.Values, time.Since(began).Seconds())
			}
			return s, nil
		},
		Check: func(ctx context.Context) error {
			have, err := lab.ReadContents(ctx, f.DB, copied, nil)
			if err == nil {
				err = f.Templates[template].SameRows(have, copied)
			}
			_, dropErr := f.DB.ExecContext(ctx, "DROP DATABASE "+copied)
			return errors.Join(err, dropErr)
		},
		Cleanup: f.Stop,
	}
}
