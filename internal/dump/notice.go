package dump

import (
	"bytes"
	"regexp"
)

// What dumpers say on stderr gets into the dump by 2>&1, or through a terminal. None of it can be the beginning of a
// statement.
var (
	notice = regexp.MustCompile(`^(?:\S*(?:mysqldump|mariadb-dump|mysqlpump)(?:\.exe)?: |Warning: |WARNING: |Enter password: |<(?i:br|b|html|!doctype|pre)\b)`)
	// failure is what a dumper says that has not dumped everything; harmless is what it says of no more than tablespaces.
	failure  = regexp.MustCompile(`^\S*(?:mysqldump|mariadb-dump|mysqlpump)(?:\.exe)?: (?:Error\b|Got error\b|Couldn't\b|Got errno\b|Can't\b)|^<(?i:br|b|html|!doctype|pre)\b`)
	harmless = regexp.MustCompile(`PROCESS privilege.*tablespaces`)
)

// maxNotices is how many lines that a dumper said are kept.
const maxNotices = 3

// noticeAt passes over a line that the dumper said, if that is what buf[i] begins; it is a fault if it says that the dump is
// not whole.
func (l *lexer) noticeAt(buf []byte, i int) (bool, error) {
	rest := buf[i:]
	if c := rest[0]; !l.lineStart || c != '/' && !isLetter(c) && c != '.' && c != '<' || !notice.Match(rest) {
		return false, nil
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	text := printable(line)
	if failure.Match(line) && !harmless.Match(line) {
		return true, l.fail(buf, i, "the program that wrote the dump has failed, and said so in it: "+text,
			"make the dump again, and look at its exit status; what stands before this line was loaded")
	}
	if len(l.notices) < maxNotices {
		l.notices = append(l.notices, text)
	}
	l.enter(inLine, i)
	return true, nil
}
