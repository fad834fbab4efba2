package parts

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// settings are what each file begins and ends with.
type settings struct {
	// first is the line by which a dump is known to have an end.
	first string
	// head is what the dumper sets, and foot what gives the session back what it had. The dumper of MariaDB forgets to do that
	// for unique_checks.
	head, foot []byte
	// wrap is a setting of the present table alone.
	wrap []byte
}

var (
	// historyOn is in what MariaDB's dumper writes before the earlier rows of a table, and historyOff is what it writes behind them.
	historyOn  = []byte("@@session.system_versioning_insert_history=1")
	historyOff = []byte("/*M!101100 SET system_versioning_insert_history=@old_system_versioning_insert_history */")
	// saved is how a dumper keeps what a session had, in a comment that only some servers read.
	saved = regexp.MustCompile(`^(/\*M?!\d+ )?SET @OLD_(\w+) *= *@@(\w+)`)
)

// isSet reports whether a statement is a SET, for some servers or all.
func isSet(text []byte) bool {
	s := strings.TrimLeft(string(text[:min(len(text), len("/*M!999999 SET "))]), "/*M!0123456789 ")
	return strings.HasPrefix(s, "SET ")
}

// addHead adds a setting.
func (s *settings) addHead(text []byte) {
	s.head = append(append(s.head, text...), ";\n"...)
	m := saved.FindSubmatch(text)
	if m == nil {
		return
	}
	restore := string(m[1]) + "SET " + string(m[3]) + "=@OLD_" + string(m[2])
	if len(m[1]) > 0 {
		restore += " */"
	}
	s.foot = append(s.foot, restore+";\n"...)
}

func (s *settings) writeHead(w *bufio.Writer, database string) error {
	w.WriteString(s.first + "\n\n")
	if database != "" {
		w.WriteString(Use(database))
	}
	w.Write(s.head)
	if s.wrap != nil {
		w.Write(s.wrap)
		w.WriteString(";\n")
	}
	return w.Flush()
}

func (s *settings) writeEnd(w *bufio.Writer) error {
	if s.wrap != nil {
		w.Write(historyOff)
		w.WriteString(";\n")
	}
	w.Write(s.foot)
	_, err := w.WriteString("\n" + dump.PackedEnd + "\n")
	return err
}

// Use is the statement that chooses a database, on a line.
func Use(database string) string { return "USE " + dbconn.QuoteName(database) + ";\n" }

// sandbox is in the line that mariadb-dump writes above its head: older clients end there, with "unknown command '\-'".
const sandbox = `\- enable the sandbox mode */`

// firstLine is the head of a dump, of which nothing is read but the line that not every client reads.
func firstLine(r *bufio.Reader) string {
	text, _ := r.Peek(headSize) // a fault comes again
	line, rest, _ := bytes.Cut(text, []byte{'\n'})
	if bytes.Contains(line, []byte(sandbox)) {
		_, _ = r.Discard(len(line) + 1)
		line, _, _ = bytes.Cut(rest, []byte{'\n'})
	}
	return string(line)
}

// headSize is more than the first lines of a dump have, in bytes.
const headSize = 4096

// Plain is a dump that any client reads: without the line that older ones do not know.
func Plain(in io.Reader) io.Reader {
	r := bufio.NewReaderSize(in, readSize)
	firstLine(r)
	return r
}
