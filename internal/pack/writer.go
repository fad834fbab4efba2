package pack

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// writer writes statements. It keeps its first error.
type writer struct {
	w                 *bufio.Writer
	delimiter         string // the one in force
	statements, bytes int64
	err               error
}

func (w *writer) write(b []byte) {
	n, err := w.w.Write(b)
	w.bytes += int64(n)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("write dump: %w", err)
	}
}

// statement writes a statement of the dump.
func (w *writer) statement(text []byte, delimiter string) {
	if delimiter == "" {
		delimiter = w.delimiter // that of a dump that is about to be refused
	}
	w.use(delimiter)
	w.write(text)
	w.write([]byte(delimiter + "\n"))
	w.statements++
}

// own writes a statement that is not the dump's.
func (w *writer) own(text string) { w.statement([]byte(text), ";") }

// use ends the next statement with a delimiter.
func (w *writer) use(delimiter string) {
	if delimiter != w.delimiter {
		w.write([]byte("DELIMITER " + delimiter + "\n"))
		w.delimiter = delimiter
	}
}

// head writes what stands above all statements; lines are those of the dump.
func (w *writer) head(lines []string) {
	w.write([]byte(dump.PackedHead + "\n"))
	for _, line := range lines {
		w.write([]byte(line + "\n"))
	}
	if len(lines) > 0 {
		w.write([]byte("\n"))
	}
}

// end writes the last line, by which a packed dump is known to be whole.
func (w *writer) end() error {
	w.use(";")
	w.write([]byte("\n" + dump.PackedEnd + "\n"))
	if err := w.w.Flush(); err != nil && w.err == nil {
		w.err = fmt.Errorf("write dump: %w", err)
	}
	return w.err
}

const (
	// maxLines is how many lines of a dump's head are kept.
	maxLines = 20
	// sandbox is in the line that mariadb-dump writes above its head.
	sandbox = `\- enable the sandbox mode */`
	from    = "-- from: "
)

// firstLines returns the comments at the top of a dump, which tell where it is from. Nothing is
// read of it.
func firstLines(r *bufio.Reader) []string {
	text, _ := r.Peek(4096) // a fault comes again
	var lines []string
	for len(lines) < maxLines {
		line, rest, ok := bytes.Cut(text, []byte{'\n'})
		s := strings.TrimRight(string(line), " \r")
		text = rest
		switch {
		case ok && strings.Contains(s, sandbox) && len(lines) == 0, ok && s == dump.PackedHead:
		case !ok || s != "--" && !strings.HasPrefix(s, "-- "):
			return lines
		case strings.Contains(s, " dump ") && !strings.HasPrefix(s, from):
			// Not by itself what a scanner takes for the head of another dump.
			lines = append(lines, from+strings.TrimPrefix(s, "-- "))
		default:
			lines = append(lines, s)
		}
	}
	return lines
}
