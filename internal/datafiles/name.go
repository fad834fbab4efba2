// Package datafiles says what the files of a data directory are, which table, log or tablespace,
// and which of them grow. It knows them by their names alone: it opens no file and asks no server,
// so it costs a running server nothing.
//
// The invariant: each file belongs to exactly one Item, whatever its name, so that the sizes of all
// items are that of the data directory.
package datafiles

import (
	"regexp"
	"strconv"
	"strings"
)

// Kind is what an item is.
type Kind string

// The kinds.
const (
	Table       Kind = "table"       // its files, all partitions
	Alter       Kind = "alter"       // copies of tables that an ALTER or the like is making, of one database
	FullText    Kind = "fulltext"    // the indexes of a database
	Tablespace  Kind = "tablespace"  // a general tablespace
	System      Kind = "system"      // ibdata1
	Dictionary  Kind = "dictionary"  // mysql.ibd
	Undo        Kind = "undo"        // undo tablespaces
	Redo        Kind = "redo"        // InnoDB's redo log
	Doublewrite Kind = "doublewrite" // the buffer against torn pages
	Binlog      Kind = "binlog"      // the binary log, and relay logs
	Temporary   Kind = "temporary"   // the temporary tablespace, temporary tables
	AriaLog     Kind = "arialog"
	RocksDB     Kind = "rocksdb"
	Database    Kind = "database" // all tables of one, beside them
	Other       Kind = "other"
)

// Item is what files belong to.
type Item struct {
	Kind Kind
	// Database and Name are those of a table; Database that of Alter and FullText, Name that of a
	// Tablespace.
	Database, Name string
}

// String is the item as people call it: shop.orders, binary log.
func (i Item) String() string {
	switch i.Kind {
	case Table:
		return quote(i.Database) + "." + quote(i.Name)
	case Alter:
		return "ALTER in " + quote(i.Database)
	case FullText:
		return "full-text indexes of " + quote(i.Database)
	case Tablespace:
		return "tablespace " + quote(i.Name)
	case Database:
		return quote(i.Database) + ".*"
	}
	return words[i.Kind]
}

var words = map[Kind]string{
	System: "system tablespace", Dictionary: "data dictionary", Undo: "undo tablespaces", Redo: "redo log", Doublewrite: "doublewrite buffer",
	Binlog: "binary log", Temporary: "temporary tables", AriaLog: "Aria log", RocksDB: "RocksDB", Other: "other files",
}

var plain = regexp.MustCompile(`^[0-9A-Za-z_$\x{80}-\x{FFFF}]+$`)

// quote puts a name in backquotes where SQL wants them.
func quote(name string) string {
	if plain.MatchString(name) && strings.Trim(name, "0123456789") != "" {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// suffixes of the files of a table, by engine: InnoDB, MyISAM, Aria, CSV, ARCHIVE, MERGE, CONNECT,
// and definitions.
var suffixes = []string{".ibd", ".isl", ".cfg", ".MYD", ".MYI", ".MAD", ".MAI", ".CSV", ".CSM", ".CSN", ".ARZ", ".ARN", ".MRG", ".frm", ".par", ".TRG", ".TRN", ".cfp"}

// key is what all files of an item have in common: of the name of a table's file, what comes before
// partition and suffix. base is what the server calls its binary log.
func key(sub, file, base string) (kind Kind, stem string) {
	if sub == "" {
		return topKey(file, base)
	}
	if sub[0] == '#' {
		switch {
		case strings.HasPrefix(sub, "#innodb_redo"):
			return Redo, ""
		case strings.HasPrefix(sub, "#innodb_temp"):
			return Temporary, ""
		case strings.HasPrefix(sub, "#rocksdb"):
			return RocksDB, ""
		}
	}
	stem = file
	for _, s := range suffixes {
		if cut, ok := strings.CutSuffix(file, s); ok {
			stem = cut
			break
		}
	}
	if cut, ok := strings.CutSuffix(stem, ".sdi"); ok { // m_389.sdi of table m
		if i := strings.LastIndexByte(cut, '_'); i > 0 && strings.Trim(cut[i+1:], "0123456789") == "" {
			cut = cut[:i]
		}
		stem = cut
	} else if stem == file {
		return Other, ""
	}
	switch {
	case strings.HasPrefix(stem, "#sql"):
		return Alter, ""
	case len(stem) > 20 && (stem[0] == 'f' || stem[0] == 'F') && fullText.MatchString(stem):
		return FullText, ""
	}
	// MariaDB writes #P#, MySQL #p#; a name's own # is encoded.
	if i := strings.IndexByte(stem, '#'); i > 0 {
		stem = stem[:i]
	}
	return Table, stem
}

// fullText are the tables behind a full-text index, named by the number of its table.
var fullText = regexp.MustCompile(`(?i)^fts_[0-9a-f]{16}_`)

// topKey is key of a file in the data directory itself.
func topKey(file, base string) (kind Kind, stem string) {
	has := func(prefixes ...string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(file, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has(base + "."), strings.Contains(file, "relay-bin."), strings.Contains(file, "relay-log."):
		return Binlog, ""
	case has("ib_logfile", "ib_redo", "#ib_redo"):
		return Redo, ""
	case strings.HasSuffix(file, ".dblwr"), strings.HasSuffix(file, ".bdblwr"):
		return Doublewrite, ""
	case has("ibtmp"):
		return Temporary, ""
	case has("ibdata"):
		return System, ""
	case has("undo"), strings.HasSuffix(file, ".ibu"):
		return Undo, ""
	case file == "mysql.ibd":
		return Dictionary, ""
	case has("aria_log"):
		return AriaLog, ""
	case strings.HasSuffix(file, ".ibd"):
		return Tablespace, strings.TrimSuffix(file, ".ibd")
	}
	return Other, ""
}

// item is that of a key.
func item(kind Kind, sub, stem string) Item {
	i := Item{Kind: kind}
	switch kind {
	case Table:
		i.Database, i.Name = Decode(sub), Decode(stem)
	case Alter, FullText, Database:
		i.Database = Decode(sub)
	case Tablespace:
		i.Name = stem // its file is named by who created it
	}
	return i
}

// Identify says what a file belongs to: sub is the directory that it lies in, "" for the data
// directory itself.
func Identify(sub, file, base string) Item {
	kind, stem := key(sub, file, base)
	return item(kind, sub, stem)
}

// undecodable begins the name of a database or table whose files are not named as servers name them:
// servers call it so, too.
const undecodable = "#mysql50#"

// Decode returns the identifier that the name of a file stands for: my@002dshop is my-shop.
func Decode(name string) string {
	var b strings.Builder
	for rest := name; rest != ""; {
		r, size := decodeRune(rest)
		if size == 0 {
			return undecodable + strings.ToValidUTF8(name, "?")
		}
		b.WriteRune(r)
		rest = rest[size:]
	}
	return b.String()
}

// safe are the characters that stand for themselves.
func safe(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '_' || c == '#'
}

// decodeRune returns the first character, and how long its code is, 0 if it is none.
func decodeRune(s string) (r rune, size int) {
	const short, long = 3, 5
	switch {
	case safe(s[0]):
		return rune(s[0]), 1
	case s[0] != '@':
		return 0, 0
	case len(s) >= short:
		for _, c := range shortCodes {
			if c.first != s[1] {
				continue
			}
			if i := strings.IndexByte(c.last, s[2]); i >= 0 {
				return []rune(c.chars)[i], short
			}
		}
	}
	if len(s) < long {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[1:long], 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(n), long
}
