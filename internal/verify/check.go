package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Options are how thorough a check is.
type Options struct {
	// Quick leaves out the sums of rows, and what of CHECK TABLE reads every row.
	Quick bool
	// Thorough has CHECK TABLE read tables that were loaded too, and counts rows that refer to rows which are not there.
	Thorough bool
	// Loaded says that the server has written all tables itself just now, from statements. CHECK TABLE would check the
	// server then, and take half as long as the load: the rows are read for their sums anyway.
	Loaded bool
	// Users asks the server for its accounts: see dbconn.Dialect.
	Users string
	// Checked is called with each table that was checked, and of how many; may be nil. Calls do not overlap.
	Checked func(done, of int)
}

// leastWorkers and mostWorkers bound the connections that check tables at once.
const (
	leastWorkers = 2
	mostWorkers  = 4
)

// Run checks all that a server holds, and adds what it finds to r. An error is one of the check itself: whatever is
// wrong with the backup, also that the server dies of it, is in the report.
func Run(ctx context.Context, db *sql.DB, r *Report, o Options) error {
	r.Tables, r.Objects = []Table{}, []Object{} // not null: there is nothing
	workers := min(max(leastWorkers, runtime.NumCPU()), mostWorkers)
	db.SetMaxOpenConns(workers)
	c, err := readCatalog(ctx, db, o.Users)
	if err != nil {
		return fmt.Errorf("read what there is: %w", err)
	}
	for _, t := range c.elsewhere {
		r.note(Skipped, t.String(), "its rows are on another server (ENGINE="+t.Engine+")")
	}
	k := &checker{db: db, catalog: c, options: o, report: r}
	if err := k.tables(ctx, workers); err != nil {
		return err
	}
	r.Objects = append(r.Objects, c.objects...)
	slices.SortFunc(r.Tables, func(a, b Table) int { return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Name, b.Name)) })
	for _, t := range r.Tables {
		r.Rows += t.Rows
	}
	if !k.died {
		if err := k.rest(ctx); err != nil {
			return err
		}
	}
	if len(r.Tables)+len(r.Objects)+len(c.elsewhere)+len(r.Problems) == 0 {
		r.problem(Empty, "", "there is no table in it")
	}
	slices.SortStableFunc(r.Problems, func(a, b Finding) int { return cmp.Compare(a.Object, b.Object) })
	return nil
}

// checker checks tables by several connections.
type checker struct {
	*catalog
	db      *sql.DB
	options Options

	mu     sync.Mutex // guards what is below
	report *Report
	done   int
	died   bool
}

// tables checks all tables, the largest first.
func (k *checker) tables(ctx context.Context, workers int) error {
	work := make(chan Table)
	errs := make(chan error, workers)
	for range workers {
		go func() {
			var err error
			for t := range work {
				if err == nil {
					err = k.table(ctx, t)
				}
			}
			errs <- err
		}()
	}
	for _, t := range k.catalog.tables {
		work <- t
	}
	close(work)
	var first error
	for range workers {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// table checks one table.
func (k *checker) table(ctx context.Context, t Table) error {
	found := &Report{}
	err := errGone
	if !k.gone() {
		err = k.examine(ctx, &t, found)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t.Unread = err != nil
	switch {
	case errors.Is(err, errGone):
		found.problem(Unchecked, t.String(), "the server was gone before its turn")
	case dbconn.Gone(err) && !k.died:
		k.died = true
		found.problem(ServerDied, t.String(), "the server died while it read this table, or another at the same time")
	case dbconn.Gone(err):
		found.problem(Unchecked, t.String(), "the server died meanwhile")
	case err != nil && len(found.Problems) == 0:
		found.problem(Unreadable, t.String(), serverSays(err))
	}
	k.report.Tables = append(k.report.Tables, t)
	k.report.Problems = append(k.report.Problems, found.Problems...)
	k.report.Notes = append(k.report.Notes, found.Notes...)
	if k.done++; k.options.Checked != nil {
		k.options.Checked(k.done, len(k.catalog.tables))
	}
	return nil
}

// errGone says that the server died before.
var errGone = errors.New("the server is gone")

func (k *checker) gone() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.died
}

// examine has the server check a table, and counts and sums its rows.
func (k *checker) examine(ctx context.Context, t *Table, found *Report) error {
	name := quoted(*t)
	if err := k.definition(ctx, t, found); err != nil {
		return err
	}
	if !k.options.Loaded || k.options.Thorough {
		if err := k.check(ctx, t, found); err != nil {
			return err
		}
	}
	err := dbconn.Query(ctx, k.db, "SELECT COUNT(*) FROM "+name, func(row []string) (err error) {
		t.Rows, err = strconv.ParseInt(row[0], 10, 64)
		return err
	})
	if err != nil || k.options.Quick {
		return err
	}
	return dbconn.Query(ctx, k.db, "CHECKSUM TABLE "+name, func(row []string) error {
		t.Checksum = row[1]
		return nil
	})
}

// definition reads how a table is defined.
func (k *checker) definition(ctx context.Context, t *Table, found *Report) error {
	return dbconn.Query(ctx, k.db, "SHOW CREATE TABLE "+quoted(*t), func(row []string) error {
		if text := k.counters[t.String()].nearlyFull(row[1]); text != "" {
			found.note(NearlyFull, t.String(), text)
		}
		sum := sha256.Sum256([]byte(autoIncrement.ReplaceAllString(row[1], "$1")))
		t.Schema = hex.EncodeToString(sum[:8])
		return nil
	})
}

// check has the server check a table. It says what it finds in rows, of which the last is the verdict.
func (k *checker) check(ctx context.Context, t *Table, found *Report) error {
	query := "CHECK TABLE " + quoted(*t)
	if k.options.Quick {
		query += " QUICK"
	}
	var said []string
	sound := false
	err := dbconn.Query(ctx, k.db, query, func(row []string) error {
		kind, text := strings.ToLower(row[2]), row[3]
		sound = kind == "note" || kind == "status" && (strings.EqualFold(text, "OK") || strings.Contains(text, "up to date"))
		if !sound {
			said = append(said, text)
		}
		return nil
	})
	switch text := strings.Join(said, "; "); {
	case err != nil:
		return err
	case !sound:
		found.problem(Check, t.String(), "CHECK TABLE: "+text)
	case text != "":
		found.note(Warning, t.String(), "CHECK TABLE: "+text)
	}
	return nil
}

// rest checks what is not one table.
func (k *checker) rest(ctx context.Context) error {
	for _, definer := range slices.Sorted(maps.Keys(k.definers)) {
		k.report.note(MissingDefiner, k.definers[definer], "its definer "+definer+" is not in the backup: where it is restored that account must be there")
		k.standIn(ctx, definer)
	}
	for _, v := range k.views {
		err := dbconn.Query(ctx, k.db, fmt.Sprintf("SELECT 1 FROM %s.%s LIMIT 0", dbconn.QuoteName(v.Database), dbconn.QuoteName(v.Name)), func([]string) error { return nil })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			k.report.problem(BrokenView, v.String(), serverSays(err))
		}
	}
	for _, f := range k.keys {
		if !k.has(f.parent) {
			k.report.problem(MissingParent, f.table.String(), fmt.Sprintf("its foreign key %s refers to %s, which is not there", f.name, f.parent))
		} else if k.options.Thorough {
			if err := k.orphans(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// standIn makes an account that a view runs as, so that the view says what else is wrong with it. Nobody can log in
// with it, and it goes with the server.
func (k *checker) standIn(ctx context.Context, definer string) {
	user, host := splitAccount(definer)
	if strings.Contains(definer, `\`) {
		return // quotes are another thing there; its views say that it is missing
	}
	name := dbconn.Quote(user) + "@" + dbconn.Quote(host)
	// A server that does not take it leaves the view to say so.
	_ = dbconn.ExecUnlogged(ctx, k.db, "CREATE USER "+name+" ACCOUNT LOCK", "GRANT ALL ON *.* TO "+name)
}

// orphans counts rows whose foreign key leads nowhere.
func (k *checker) orphans(ctx context.Context, f foreignKey) error {
	var on, set []string
	for i, column := range f.columns {
		c := "c." + dbconn.QuoteName(column)
		on = append(on, c+" = p."+dbconn.QuoteName(f.refs[i]))
		set = append(set, c+" IS NOT NULL")
	}
	query := fmt.Sprintf("SELECT COUNT(*) FROM %s c LEFT JOIN %s p ON %s WHERE %s AND p.%s IS NULL", quoted(f.table), quoted(f.parent),
		strings.Join(on, " AND "), strings.Join(set, " AND "), dbconn.QuoteName(f.refs[0]))
	err := dbconn.Query(ctx, k.db, query, func(row []string) error {
		if row[0] != "0" {
			k.report.problem(Orphans, f.table.String(), fmt.Sprintf("%s rows refer by foreign key %s to rows of %s that are not there", row[0], f.name, f.parent))
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		k.report.problem(Unreadable, f.table.String(), serverSays(err))
		return nil
	}
	return ctx.Err()
}

func quoted(t Table) string { return dbconn.QuoteName(t.Database) + "." + dbconn.QuoteName(t.Name) }

// serverSays is an error in the server's own words.
func serverSays(err error) string {
	if r, ok := dbconn.RefusalOf(err); ok {
		return fmt.Sprintf("error %d: %s", r.Code, r.Message)
	}
	return err.Error()
}
