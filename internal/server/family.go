package server

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Family is all that Ramaria knows of one flavour of server: a fact that depends on the
// flavour, or on the version, is a field here or a row of one, and code that needs it asks
// the Server. Another version is another row with its golden file; nothing outside
// mariadb.go and mysql.go says which flavour it is about.
type Family struct {
	Flavour Flavour
	// Name is how its makers write it.
	Name string
	// Oldest is the oldest version that is supported.
	Oldest Version
	// steps are the series that an upgrade may not pass over, oldest first. strict is a series of which a release does not read
	// what a later release wrote.
	steps  []string
	strict string
	// words are parts of statements that no other flavour knows.
	words []string
	// Stock is for measuring it beside other servers.
	Stock StockFacts
	// VersionMark is part of what --version says after the number; "" fits all, and comes last.
	VersionMark string
	// Daemons, Clients, Dumpers and LogReaders are the names of the programs, new ones
	// first: the server, its command line client, and what writes dumps and reads
	// binary logs.
	Daemons, Clients, Dumpers, LogReaders []string
	// comments is the first version whose client leaves comments in statements unless told
	// otherwise, the zero Version if none does.
	comments Version
	// versioned is which versioned comments are code.
	versioned versionedRules
	// upgrader upgrades what an older server wrote; without a name the daemon does.
	upgrader upgrader

	// dialect is how it is spoken to in SQL, but for what depends on the version: withheld are the
	// privileges that the application does not get, and readOnly is the first version that can make
	// a single database read only, the zero Version if none can.
	dialect  dbconn.Dialect
	withheld []privilege
	// withheldDurable are those that it does not get besides in a durable instance.
	withheldDurable []privilege
	readOnly        Version
	// replica is the first version that says REPLICA for SLAVE, the zero Version if none does.
	replica Version

	// block returns a statement that carries out others, one after the other, up to the first
	// that fails; nil if the server has none outside of a stored program.
	block func(statements ...string) string
	// sampling is the global variable that says how many pages of each index are read for
	// statistics whenever a table is altered, "" where none are.
	sampling string
	// transports is from how many rows on importing a table's file is faster than filling a table,
	// and transportsSince the first version that was seen to import whatever it exports.
	transports int64
	// replays is how many bytes of a log its applier applies in a second at least, of small transactions all over
	// 2 GB of data: it stands until the rate of an instance was measured.
	replays float64
	// costs are what was measured of its applier.
	costs           ReplayCosts
	transportsSince Version
	// bulk is the first version that was seen to fill an empty table in one go, the zero Version
	// if none does.
	bulk Version
	// cascades is the first version that logs the rows that foreign keys change, the zero
	// Version if none does.
	cascades Version
	// greeted is the first version whose applier changes rows by how old the server is that greets it as its source, the
	// zero Version if none does.
	greeted Version
	// hidden says that a table's counter can be another once the table is reopened, and that
	// information_schema tells an old one until then.
	hidden bool

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
	// checkpointBy is a setting that, lowered, has the server write out all that it holds and move its checkpoint at
	// once, which it does in its own time otherwise; "" for none. checkpointTo is how low.
	checkpointBy, checkpointTo string
	// logDecides says that of the transactions that were prepared when the server was
	// killed those are rolled back, without a word, that the binary log does not have.
	logDecides bool
}

// Checkpoint is a setting by which a server writes out all that it holds at once, and the value to set it to; both are
// "" where nothing does.
func (s *Server) Checkpoint() (setting, value string) {
	return s.Family().checkpointBy, s.Family().checkpointTo
}

// privilege is one that there is since a version, the zero Version for always.
type privilege struct {
	name  string
	since Version
	until Version // the first that does not have it; zero for none
	// noticed says that what is done by it to the log is noticed by itself, whoever does it.
	noticed bool
}

// of reports whether a version has the privilege.
func (p privilege) of(v Version) bool {
	return v.Compare(p.since) >= 0 && (p.until == Version{} || v.Compare(p.until) < 0)
}

// Families are all that there are.
var Families = []*Family{&mariadbFamily, &mysqlFamily}

// FamilyOf returns the family of a flavour, or nil if the flavour is unknown.
func FamilyOf(f Flavour) *Family {
	for _, fam := range Families {
		if fam.Flavour == f {
			return fam
		}
	}
	return nil
}

// Family is for servers whose description was read or made by package software, whose flavour is known.
func (s *Server) Family() *Family { return FamilyOf(s.Flavour) }

// Dialect is how the server is spoken to in SQL.
func (s *Server) Dialect() dbconn.Dialect {
	f := s.Family()
	d := f.dialect
	for _, p := range f.withheld {
		if p.of(s.Version) {
			d.Withheld = append(d.Withheld, p.name)
		}
	}
	if f.replica != (Version{}) && s.Version.Compare(f.replica) >= 0 {
		d.Applier = dbconn.ReplicaWords
	}
	d.ReadOnlyDatabases = f.readOnly != (Version{}) && s.Version.Compare(f.readOnly) >= 0
	return d
}

// Users is the question of that name in its dialect, which depends on no version.
func (f *Family) Users() string { return f.dialect.Users }

// Blinding are the privileges by which a session keeps what it commits out of the binary log, or gets to do so as another
// account. Those of other versions are among them: a log may come from one. They are for durable instances; of who defines
// what a clone has, the fewer count that Dialect withholds from every application.
func (f *Family) Blinding() (names []string) {
	for _, p := range slices.Concat(f.withheld, f.withheldDurable) {
		if !p.noticed {
			names = append(names, p.name)
		}
	}
	return names
}

// DialectOf is how a server of an instance of a level is spoken to.
func (s *Server) DialectOf(level Durability) dbconn.Dialect {
	d := s.Dialect()
	if !level.Durable() {
		return d
	}
	for _, p := range s.Family().withheldDurable {
		if p.of(s.Version) {
			d.Withheld = append(d.Withheld, p.name)
		}
	}
	return d
}

// Block returns a statement that carries out others, one after the other, up to the first that
// fails; "" if the server has none.
func (s *Server) Block(statements ...string) string {
	if f := s.Family().block; f != nil {
		return f(statements...)
	}
	return ""
}

// Sampling returns the global variable that says how many pages of each index the server reads
// for statistics whenever a table is altered, "" if it reads none.
func (s *Server) Sampling() string { return s.Family().sampling }

// LogsCascades reports whether the binary log has the rows that foreign keys change.
func (s *Server) LogsCascades() bool {
	f := s.Family()
	return f.cascades != (Version{}) && s.Version.Compare(f.cascades) >= 0
}

// AsksSource reports whether an applier changes rows by how old the server is that greets it as its source.
func (s *Server) AsksSource() bool {
	f := s.Family()
	return f.greeted != (Version{}) && s.Version.Compare(f.greeted) >= 0
}

// FillsAtOnce reports whether a transaction that fills an empty table makes its pages in one go, in
// the order of the keys and with little undo log, if unique_checks and foreign_key_checks are off.
// https://mariadb.com/kb/en/innodb-insert/ (MDEV-24621)
func (s *Server) FillsAtOnce() bool {
	f := s.Family()
	return f.bulk != (Version{}) && s.Version.Compare(f.bulk) >= 0
}

// HidesCounters reports whether an AUTO_INCREMENT shows only when the table is reopened: MySQL's
// after an insert that failed though it gave the very value that was next, and met a lock or a
// unique key; and in information_schema that of a table that the server has forgotten meanwhile.
func (s *Server) HidesCounters() bool { return s.Family().hidden }

// RunsComment reports whether the server runs what stands in a versioned comment, and how many digits of its mark are the
// version: own is MariaDB's own mark (/*M! for /*!), digits are up to six that follow it, and spaced says that white space
// stands behind six. Tried on MariaDB 10.11, 11.8 and MySQL 9.7.
func (s *Server) RunsComment(own bool, digits string, spaced bool) (runs bool, used int) {
	const least = 5
	rules := s.Family().versioned
	switch {
	case own && !rules.own:
		return false, 0
	case len(digits) < least:
		return true, 0
	}
	used = len(digits)
	if used > least && rules.spaced && !spaced {
		used = least
	}
	number, err := strconv.Atoi(digits[:used])
	v := s.Version
	return err == nil && number <= v.Major*10000+v.Minor*100+v.Patch && (own || number < rules.others || number > lastOfFive), used
}

// lastOfFive is the last version that has five digits.
const lastOfFive = 99999

// versionedRules are how a family reads versioned comments.
type versionedRules struct {
	// own says that it knows those of MariaDB alone, and spaced that six digits are a version only before white space.
	own, spaced bool
	// others is the first version up to lastOfFive that is for the other family: it runs none from there on, but its own. 100000
	// for a family that runs all.
	others int
}

// KeepsComments reports whether the server's client sends comments in statements unless told
// otherwise.
func (s *Server) KeepsComments() bool {
	f := s.Family()
	return f.comments != (Version{}) && s.Version.Compare(f.comments) >= 0
}

// ReplayCosts are how long an applier takes, beyond start and shutdown, on a machine that costs were measured on.
type ReplayCosts struct {
	// Group is for a transaction, Statement for one that is there as text, Row for a row, and Searched for one more that is
	// updated or deleted in a table without a unique key.
	Group, Statement, Row, Searched time.Duration
	// Rate is for what events hold, in bytes a second.
	Rate float64
}

// ReplayCosts are those of servers of the family.
func (f *Family) ReplayCosts() ReplayCosts { return f.costs }

// ReplayRate is how many bytes of its log a server of the family can be expected to apply in a second.
func (f *Family) ReplayRate() float64 { return f.replays }

// TransportsFrom returns from how many rows on a table is best copied by its file (FLUSH TABLES ...
// FOR EXPORT, IMPORT TABLESPACE), 0 if it never is.
func (s *Server) TransportsFrom() int64 {
	f := s.Family()
	if s.Version.Compare(f.transportsSince) < 0 {
		return 0
	}
	return f.transports
}

// ProgramNames are the names of all its programs, those included by which it upgrades.
func (f *Family) ProgramNames() []string {
	return slices.Concat(f.Daemons, f.Clients, f.Dumpers, f.LogReaders, f.upgrader.calls, []string{f.upgrader.name})
}

// BootstrapFile is the first of the files below Share that make a data directory, by any of its
// names; nil for a daemon that makes one by itself.
func (f *Family) BootstrapFile() []string {
	if len(f.bootstrap) == 0 {
		return nil
	}
	return f.bootstrap[0].names
}

// Example is how people name one of its series: mariadb:10.6.
func (f *Family) Example() string { return string(f.Flavour) + ":" + f.Oldest.Series() }

// TooOld is the error of a version that is not supported, nil for others.
func (f *Family) TooOld(v Version) error {
	if v.Compare(f.Oldest) >= 0 {
		return nil
	}
	return fmt.Errorf("%s %s is older than %s, the oldest that ramaria supports", f.Name, v, f.Oldest.Series())
}
