package reset

import (
	"context"

	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/template"
)

// Not all that changes a database is in the log: a CREATE OR REPLACE DATABASE that fails half way has
// dropped tables, and a RENAME TABLE of several that is killed has renamed some, and MariaDB writes
// neither down. Both make, remove or rename files in the database's directory. So does much else,
// which is no matter: then shapes are compared.

// filesAt is when files last came or went in the directory of a database, 0 if it has none that we know.
func (j *Journal) filesAt(name string) (at int64) {
	data, err := sys.OpenDir(j.dir)
	if err != nil {
		return 0
	}
	if dir, err := data.Dir(name); err == nil {
		at, _ = dir.Modified()
		_ = dir.Close()
	}
	_ = data.Close()
	return at
}

// settleFiles says that the shape of a watched database is right as of what filesAt returned.
func (j *Journal) settleFiles(name string, at int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.watched[name] != nil {
		j.files[name] = at
	}
}

// filesMoved reports whether files came or went since the shape of a database was known to be right.
func (j *Journal) filesMoved(name string, at int64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	was, known := j.files[name]
	return known && was != at
}

// strayed reports whether the shape of a database, as far as the log tells its template's, is another.
func (r *Engine) strayed(ctx context.Context, s *Session, d *Database) (bool, error) {
	at := r.Journal.filesAt(d.Name)
	if !r.Journal.filesMoved(d.Name, at) {
		return false, nil
	}
	have, err := template.ReadSome(ctx, s.Conn, d.Name, func(string) bool { return true })
	if err != nil {
		return false, err
	}
	if !d.Shape.Compare(have, nil).Empty() {
		return true, nil
	}
	r.Journal.settleFiles(d.Name, at)
	return false, nil
}

// strayedWhy is what is said about that.
const strayedWhy = "its shape was changed by a statement that failed, or was killed, and is not in the log"

// compareAll makes a plan compare the definitions of all tables.
func (p *Plan) compareAll(shape *template.Shape) {
	p.Way, p.Why, p.Structure = Refill, strayedWhy, true
	for _, t := range shape.Tables {
		p.Suspect[t.Name] = true
	}
}
