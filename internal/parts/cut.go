package parts

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// Rows cuts what a dumper writes of the rows of some tables, and of nothing else: settings, INSERTs of one table after the
// other, settings again. Each file has the settings, and rows of one table.
type Rows struct {
	Dir *Dir
	// Database is in the names of files, and chosen in them; "" for neither.
	Database string
	// Most is the size at which the next file is begun, in bytes of text; the statement that reaches it is still in.
	Most int64
	// Done is called when all rows of a table were read, of one that has any.
	Done func(table string) error
}

// Cut writes the files of a dump. Tables without rows have none. name is what the dump is called in errors.
func (r Rows) Cut(in io.Reader, name string) error {
	text := bufio.NewReaderSize(in, readSize)
	c := cutter{Rows: r, settings: settings{first: firstLine(text)}}
	err := c.cut(dump.NewScanner(text, name))
	if c.file != nil { // of an error
		err = errors.Join(err, c.file.Close())
	}
	return err
}

const (
	// readSize and writeSize are how much is read and written at once, in bytes.
	readSize  = 64 << 10
	writeSize = 256 << 10
)

type cutter struct {
	Rows
	settings

	table, stem string // of the present table, and "" before the first
	part        int
	size        int64
	file        *file
	w           *bufio.Writer
}

func (c *cutter) cut(s *dump.Scanner) error {
	for {
		st, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			return c.endTable()
		case err != nil:
			return err
		}
		if table, ok := insertsInto(st.Text); ok {
			err = c.row(table, st.Text)
		} else {
			err = c.other(st)
		}
		if err != nil {
			return err
		}
	}
}

// row writes an INSERT.
func (c *cutter) row(table string, text []byte) error {
	if table != c.table {
		if err := c.endTable(); err != nil {
			return err
		}
		c.table, c.stem, c.part = table, c.Dir.stemOf(c.Database, table), 0
	}
	if c.stem == "" {
		return nil // made since the dump began
	}
	if c.size >= c.Most {
		if err := c.endFile(); err != nil {
			return err
		}
	}
	if c.file == nil {
		if err := c.beginFile(); err != nil {
			return err
		}
	}
	c.size += int64(len(text))
	return c.write(text, ";\n")
}

// other takes note of a statement that is none of rows.
func (c *cutter) other(st dump.Statement) error {
	switch {
	case bytes.Contains(st.Text, historyOn):
		if err := c.endTable(); err != nil {
			return err
		}
		c.wrap = bytes.Clone(st.Text)
	case bytes.Equal(st.Text, historyOff):
		if err := c.endTable(); err != nil {
			return err
		}
		c.wrap = nil
	case c.table == "" && isSet(st.Text):
		c.addHead(st.Text)
	case !isSet(st.Text):
		return fmt.Errorf("cut the dump: line %d: neither rows nor settings: %.80q", st.Line, st.Text)
	}
	return nil // settings behind rows undo what stands before them, as each file does
}

// beginFile begins the next file of the table.
func (c *cutter) beginFile() error {
	c.part++
	var err error
	if c.file, err = c.Dir.create(fmt.Sprintf("%s-%s.%04d", rowsNext, c.stem, c.part)); err != nil {
		return err
	}
	c.w, c.size = bufio.NewWriterSize(c.file, writeSize), 0
	return c.writeHead(c.w, c.Database)
}

// endFile ends the file that is open, if any.
func (c *cutter) endFile() error {
	if c.file == nil {
		return nil
	}
	err := errors.Join(c.writeEnd(c.w), c.w.Flush())
	err = errors.Join(err, c.file.Close())
	c.file, c.size = nil, 0
	return err
}

// endTable ends the table that is open, if any.
func (c *cutter) endTable() error {
	if c.stem == "" {
		return nil
	}
	if err := c.endFile(); err != nil {
		return err
	}
	c.stem = ""
	if c.Done == nil {
		return nil
	}
	return c.Done(c.table)
}

func (c *cutter) write(text []byte, end string) error {
	_, err := c.w.Write(text)
	if err == nil {
		_, err = c.w.WriteString(end)
	}
	return err
}

var insert = []byte("INSERT INTO `")

// insertsInto returns the table that a dumper's INSERT is of.
func insertsInto(text []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(text, insert)
	if !ok {
		return "", false
	}
	var name []byte
	for {
		n := bytes.IndexByte(rest, '`')
		if n < 0 {
			return "", false
		}
		name = append(name, rest[:n]...)
		if rest = rest[n+1:]; len(rest) == 0 || rest[0] != '`' {
			return string(name), true
		}
		name, rest = append(name, '`'), rest[1:]
	}
}
