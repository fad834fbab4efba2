package dump

import "slices"

// maxDatabases limits the names that a Summary keeps.
const maxDatabases = 10000

// Summary is what a pass over a dump saw.
type Summary struct {
	// Notices are lines that the dumper said and that were left out, the first of them.
	Notices []string
	// Statements counts what the client sends to the server; Bytes and Lines are
	// those of the decompressed text.
	Statements, Bytes int64
	Lines             int
	// Databases are the databases named by USE, CREATE DATABASE and CREATE SCHEMA,
	// in the order of their first appearance, at most maxDatabases.
	Databases []string
	// NeedsDatabase says that a statement named a table without its database
	// before any USE: the loader must supply a current database.
	NeedsDatabase bool
	// Current is the database that the last USE chose, or empty.
	Current string
	// Maker is whose program wrote the dump, as its first line says: mysql, mariadb or empty.
	Maker string

	used bool
}

// add takes note of the statement that f is at.
func (s *Summary) add(f *splitter) error {
	s.Statements++
	head := f.beginning()
	a := read(head)
	switch a.kind {
	case kindUse:
		if useWithoutEnd(head) {
			return &Error{Line: f.line, Msg: "USE has no delimiter at the end of its line, so the next statement would become part of it",
				Hint: "end the line with " + f.lex.delimiter, Statement: printable(head)}
		}
		s.used, s.Current = true, a.name
		s.database(a.name)
	case kindCreateDatabase:
		s.database(a.name)
	case kindDropDatabase:
		if a.name == s.Current {
			s.Current = ""
		}
	}
	if a.bare && !s.used {
		s.NeedsDatabase = true
	}
	return nil
}

func (s *Summary) database(name string) {
	if name != "" && len(s.Databases) < maxDatabases && !slices.Contains(s.Databases, name) {
		s.Databases = append(s.Databases, name)
	}
}
