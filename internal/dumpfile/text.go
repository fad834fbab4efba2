package dumpfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// look passes over a UTF-8 byte order mark, as the client does, has UTF-16, which shells on Windows write, read as UTF-8,
// and refuses what is no dump of MariaDB or MySQL.
func (d *Reader) look(r io.Reader) error {
	text := bufio.NewReaderSize(r, readSize)
	d.text = text
	begin, err := text.Peek(strangerBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return d.fault(Plain, err)
	}
	if err := refuseBinary(d.name, begin); err != nil {
		return err
	}
	order, mark := utf16Order(begin)
	if order == nil {
		if bom := []byte("\ufeff"); bytes.HasPrefix(begin, bom) {
			if _, err := text.Discard(len(bom)); err != nil {
				return err
			}
			begin = begin[len(bom):]
		}
		return refuseText(d.name, begin)
	}
	if _, err := text.Discard(mark); err != nil {
		return err
	}
	text = bufio.NewReaderSize(faulty{d, &utf16Reader{raw: text, order: order, name: d.name, at: int64(mark)}, Plain}, readSize)
	d.text = text
	if begin, err = text.Peek(strangerBytes); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := errors.Join(refuseText(d.name, begin), refuseNames(d.name, begin)); err != nil {
		return err
	}
	d.notes = append(d.notes, "note: "+d.name+" is UTF-16 text; it is read as UTF-8")
	return nil
}

// setNames finds by which character set a dump is to be read.
var setNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bSET NAMES ['"]?(\w+)`) })

// refuseNames refuses UTF-16 text that wants to be read in a character set of single bytes: it was written in that set, and
// is UTF-8 now.
func refuseNames(name string, begin []byte) error {
	found := setNames().FindSubmatch(begin)
	if found == nil {
		return nil
	}
	set := strings.ToLower(string(found[1]))
	switch {
	case strings.HasPrefix(set, "utf8"), set == "binary", set == "ascii":
		return nil
	case set == "latin1":
		set = "CP1252" // as servers understand it
	}
	return &dump.Error{File: name, Msg: "this is UTF-16 text that says SET NAMES " + string(found[1]) + ", and would be read in that character set",
		Hint: "iconv -f UTF-16 -t " + strings.ToUpper(set) + " " + name + " > dump.sql, and load that"}
}
