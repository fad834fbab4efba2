package server

import "fmt"

// family is all that Ramaria knows of one flavour of server: a fact that depends on the
// flavour, or on the version, is a field here or a row of one, and whoever needs it asks
// the Server. Another version is another row with its golden file; nothing outside
// mariadb.go and mysql.go says which flavour it is about.
type family struct {
	flavour Flavour
	// name is how its makers write it.
	name string
	// oldest is the oldest version that is supported.
	oldest Version
	// steps are the series that an upgrade may not pass over, oldest first. strict is a series of which a release does not read
	// what a later release wrote.
	steps  []string
	strict string
	// version is part of what --version says after the number; "" fits all, and comes last.
	version string
	// daemons, clients, dumpers and logReaders are the names of the programs, new ones
	// first: the server, its command line client, and what writes dumps and reads
	// binary logs.
	daemons, clients, dumpers, logReaders []string
	// comments is the first version whose client leaves comments in statements unless told
	// otherwise, the zero Version if none does.
	comments Version
	// upgrader upgrades what an older server wrote; without a name the daemon does.
	upgrader upgrader
	// packages are the packages of Debian, Ubuntu and the like that hold them, in the
	// order of trial: the daemon's first, and as many of the others as there are. without
	// are those that these depend on and that their programs do not need.
	packages [][]string
	without  []string
	// installs are the packages that people install, by distribution as in installers,
	// and elsewhere says it for all others.
	installs  map[string]string
	elsewhere string

	// create returns the statements that make accounts, or make them anew; names are the
	// accounts, and identified the same with their passwords.
	create func(names, identified string) []string
	// accounts asks for the accounts: user, host, and how they log in, as JSON; see authentication.
	accounts string
	// withheld are the privileges that the application does not get, and obeyReadOnly that
	// by which it could write in spite of read_only.
	withheld     []privilege
	obeyReadOnly string
	// leased is a privilege without which an account cannot change what is in its own
	// database, "" for none.
	leased string

	// unlogged are the variables of a session that puts things back; see OpenUnlogged.
	unlogged map[string]string
	// block returns a statement that carries out others, one after the other, up to the first
	// that fails; nil if the server has none outside of a stored program.
	block func(statements ...string) string
	// sampling is the global variable that says how many pages of each index are read for
	// statistics whenever a table is altered, "" where none are.
	sampling string
	// transports is from how many rows on importing a table's file is faster than filling a table,
	// and transportsSince the first version that was seen to import whatever it exports.
	transports      int64
	transportsSince Version
	// bulk is the first version that was seen to fill an empty table in one go, the zero Version
	// if none does.
	bulk Version
	// cascades is the first version that logs the rows that foreign keys change, the zero
	// Version if none does.
	cascades Version
	// hidden says that a table's counter can be another once the table is opened anew, and that
	// information_schema tells an old one until then.
	hidden bool
	// rowLocks asks which connections hold locks on rows of a database that a connection waits for.
	rowLocks string
	// transactions finds the open transactions of a user.
	transactions func(user string, into *[]Transaction) Question
	// detached asks for the names of prepared XA transactions of connections of other users than
	// one, which comes last; "" where such a transaction belongs to its connection alone.
	detached string
	// readOnly is the first version that can make a single database read only, the zero Version if
	// none can.
	readOnly Version

	dataDir dataDir
	// profile is how it is configured.
	profile []setting
	// bootstrap are the files that make a data directory; nil is for a daemon that
	// makes one by itself.
	bootstrap []bootstrapFile
	// initialise is what the daemon is run with to make a data directory, and settle
	// with what it recovers one and ends. Without settle it gets SHUTDOWN by a file.
	initialise, settle []string
	// initialSQL is run once when the daemon has made one.
	initialSQL string
	// spare are patterns of files that initialise makes and no server needs.
	spare []string
	// scratchDirs are directories that the server expects in its tmpdir.
	scratchDirs []string
	// shut are patterns of files that are of no use after a clean shutdown.
	shut []string
	// logDecides says that of the transactions that were prepared when the server was
	// killed those are rolled back, without a word, that the binary log does not have.
	logDecides bool
}

// privilege is one that there is since a version, the zero Version for always.
type privilege struct {
	name  string
	since Version
}

// families are all that there are.
var families = []*family{&mariadbFamily, &mysqlFamily}

// familyOf returns the family of a flavour, nil if there is none.
func familyOf(f Flavour) *family {
	for _, fam := range families {
		if fam.flavour == f {
			return fam
		}
	}
	return nil
}

// family is for servers that Find or Fetch returned, whose flavour is known.
func (s *Server) family() *family { return familyOf(s.Flavour) }

// Block returns a statement that carries out others, one after the other, up to the first that
// fails; "" if the server has none.
func (s *Server) Block(statements ...string) string {
	if f := s.family().block; f != nil {
		return f(statements...)
	}
	return ""
}

// Sampling returns the global variable that says how many pages of each index the server reads
// for statistics whenever a table is altered, "" if it reads none.
func (s *Server) Sampling() string { return s.family().sampling }

// LogsCascades reports whether the binary log has the rows that foreign keys change.
func (s *Server) LogsCascades() bool {
	f := s.family()
	return f.cascades != (Version{}) && s.Version.Compare(f.cascades) >= 0
}

// FillsAtOnce reports whether a transaction that fills an empty table makes its pages in one go, in
// the order of the keys and with little undo log, if unique_checks and foreign_key_checks are off.
// https://mariadb.com/kb/en/innodb-insert/ (MDEV-24621)
func (s *Server) FillsAtOnce() bool {
	f := s.family()
	return f.bulk != (Version{}) && s.Version.Compare(f.bulk) >= 0
}

// HidesCounters reports whether an AUTO_INCREMENT shows only when the table is opened anew: MySQL's
// after an insert that failed though it gave the very value that was next, and met a lock or a
// unique key; and in information_schema that of a table that the server has forgotten meanwhile.
func (s *Server) HidesCounters() bool { return s.family().hidden }

// KeepsComments reports whether the server's client sends comments in statements unless told
// otherwise.
func (s *Server) KeepsComments() bool {
	f := s.family()
	return f.comments != (Version{}) && s.Version.Compare(f.comments) >= 0
}

// TransportsFrom returns from how many rows on a table is best copied by its file (FLUSH TABLES ...
// FOR EXPORT, IMPORT TABLESPACE), 0 if it never is.
func (s *Server) TransportsFrom() int64 {
	f := s.family()
	if s.Version.Compare(f.transportsSince) < 0 {
		return 0
	}
	return f.transports
}

// example is how people name one of its series: mariadb:10.6.
func (f *family) example() string { return string(f.flavour) + ":" + f.oldest.Series() }

// tooOld is the error of a version that is not supported, nil for others.
func (f *family) tooOld(v Version) error {
	if v.Compare(f.oldest) >= 0 {
		return nil
	}
	return fmt.Errorf("%s %s is older than %s, the oldest that ramaria supports", f.name, v, f.oldest.Series())
}
