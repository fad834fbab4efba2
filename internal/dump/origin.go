package dump

import "bytes"

var (
	dumpHeads = [][]byte{[]byte("-- MySQL dump "), []byte("-- MariaDB dump "), []byte(PackedHead)}
	dumpEnd   = []byte("-- Dump completed")
)

// PackedHead and PackedEnd are the first and the last line of a dump that internal/pack has
// written.
const (
	PackedHead = "-- packed by ramaria"
	PackedEnd  = "-- Dump completed"
)

// origin watches the comments by which mysqldump, mariadb-dump and internal/pack frame what they
// write: a dump without its last line is cut short, even where the cut is not in
// the middle of anything.
type origin struct {
	line int // of the head of a dump whose end has not come yet, or 0
	// maker is who says to have written the dump: mysql, mariadb, or "".
	maker string
}

// note looks at the comment that b begins with. line is asked only where a dump
// begins: to count lines at every comment would take time by the square of them.
func (o *origin) note(b []byte, line func() int) error {
	if bytes.HasPrefix(b, dumpEnd) {
		o.line = 0
		return nil
	}
	for _, head := range dumpHeads {
		if bytes.HasPrefix(b, head) {
			at := line()
			err := o.unfinished(at)
			o.line = at
			o.maker = makerOf(b)
			return err
		}
	}
	return nil
}

// makerOf tells whose program wrote a dump with this head. MariaDB's called itself MySQL's for
// long, and named MariaDB behind that.
func makerOf(head []byte) string {
	line, _, _ := bytes.Cut(head[:min(len(head), 200)], []byte("\n"))
	switch {
	case bytes.Contains(line, []byte("MariaDB")):
		return "mariadb"
	case bytes.Contains(line, []byte("MySQL")):
		return "mysql"
	}
	return ""
}

// unfinished returns the fault of a dump that ends at line without its end.
func (o *origin) unfinished(line int) error {
	if o.line == 0 {
		return nil
	}
	return &Error{Line: line, Msg: "the dump is cut short: its last line, \"-- Dump completed\", is missing",
		Hint: "make the dump again, or, if it is whole, add that line at its end"}
}
