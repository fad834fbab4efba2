package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	// ManyTables is how many tables the database many has.
	ManyTables = 300
	// ManyRows is how many rows each of them has.
	ManyRows = 20
	// BulkRows is how many rows the only table of the database bulk has: so many that ten
	// thousand are a part of it.
	BulkRows = 40_000
)

// ManyDump is a database of small tables, each with a counter.
func ManyDump() string {
	var b strings.Builder
	b.WriteString("CREATE DATABASE many;\nUSE many;\n")
	for t := 1; t <= ManyTables; t++ {
		fmt.Fprintf(&b, "CREATE TABLE t%[1]d (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(40) NOT NULL, n int NOT NULL, KEY n (n)) ENGINE=InnoDB;\nINSERT INTO t%[1]d VALUES ", t)
		b.WriteString(items(t, ManyRows))
	}
	return b.String()
}

// BulkDump is a database with one larger table.
func BulkDump() string {
	return "CREATE DATABASE bulk;\nUSE bulk;\nCREATE TABLE item (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(40) NOT NULL, n int NOT NULL, KEY n (n)) ENGINE=InnoDB;\n" +
		"INSERT INTO item VALUES " + items(0, BulkRows)
}

// items are rows of a number, a name and another number.
func items(seed, rows int) string {
	var b strings.Builder
	for i := 1; i <= rows; i++ {
		end := ",\n"
		if i == rows {
			end = ";\n"
		}
		fmt.Fprintf(&b, "(%d,'item %d of %d',%d)%s", i, i, seed, (i*7919+seed)%rows, end)
	}
	return b.String()
}

// WriteDump writes a dump into the lab and returns its path.
func (l *Lab) WriteDump(name, text string) (string, error) {
	path := filepath.Join(l.Dir, name+".sql")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write dump: %w", err)
	}
	return path, nil
}

// DumpFile returns the path of a dump in the lab, which write makes if it does not exist
// yet. No other user may read it: it may be the user's own.
func (l *Lab) DumpFile(name string, write func(io.Writer) error) (_ string, err error) {
	path := filepath.Join(l.Dir, name+".sql")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	// Half of one must not be taken for all of it.
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fmt.Errorf("write dump: %w", err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("write dump: %w", err), os.Remove(part))
	}
	return path, os.Rename(part, path)
}

// WrapDump is the path of a dump with statements before and behind it.
func (l *Lab) WrapDump(name, head, path, tail string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	return l.DumpFile(name, func(w io.Writer) error {
		_, err := io.Copy(w, io.MultiReader(strings.NewReader(head), in, strings.NewReader(tail)))
		return err
	})
}
