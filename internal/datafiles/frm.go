package datafiles

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// Definition is what the .frm file of a table of MariaDB says of what a session's settings decide.
type Definition struct {
	// UTF8MB4 says that the table's character set, or that of one of its columns, is utf8mb4. Binary says so of columns with
	// the collation utf8mb4_bin, which those of type JSON have.
	UTF8MB4, Binary bool
	// text is the whole file, in which options have their names.
	text []byte
}

// ErrNotFrm says that a file is not the definition of a table.
var ErrNotFrm = errors.New("it is not the definition of a table")

// Where things stand in a .frm file, in bytes: from its beginning, from that of its second header, and from
// that of a column.
//
// https://github.com/MariaDB/server/blob/11.8/sql/unireg.cc, https://github.com/MariaDB/server/blob/11.8/sql/table.cc
const (
	frmHeader, frmExtra, frmCharset, frmCharsetHigh = 64, 4, 38, 41
	frmSecond, frmColumns, frmScreens               = 288, 258, 260
	frmColumn, frmColumnType                        = 17, 13
	frmColumnCharset, frmColumnCharsetHigh          = 14, 11
	typeGeometry, utf8mb4Bin                        = 255, 46
)

// ParseFrm reads the .frm file of a table; the error is ErrNotFrm for any other, as that of a view.
func ParseFrm(b []byte) (Definition, error) {
	d := Definition{text: b}
	if len(b) < frmHeader || b[0] != 0xfe || b[1] != 1 {
		return d, ErrNotFrm
	}
	second := frmHeader + int(binary.LittleEndian.Uint16(b[frmExtra:]))
	if second+4 > len(b) {
		return d, ErrNotFrm
	}
	form := int(binary.LittleEndian.Uint32(b[second:]))
	if form < 0 || form+frmSecond > len(b) {
		return d, ErrNotFrm
	}
	d.UTF8MB4 = isUTF8MB4(b[frmCharset], b[frmCharsetHigh])
	at := form + frmSecond + int(binary.LittleEndian.Uint16(b[form+frmScreens:]))
	for range binary.LittleEndian.Uint16(b[form+frmColumns:]) {
		if at+frmColumn > len(b) {
			return d, ErrNotFrm
		}
		column := b[at : at+frmColumn]
		switch low, high := column[frmColumnCharset], column[frmColumnCharsetHigh]; {
		case column[frmColumnType] == typeGeometry: // it has something else there
		case low == utf8mb4Bin && high == 0:
			d.Binary = true
		default:
			d.UTF8MB4 = d.UTF8MB4 || isUTF8MB4(low, high)
		}
		at += frmColumn
	}
	return d, nil
}

// Has reports whether the file has the name of an option, or anything else that is called so.
func (d Definition) Has(option string) bool { return bytes.Contains(d.text, []byte(option)) }

// isUTF8MB4 reports whether a collation is one of utf8mb4, by its number as information_schema.collations has it. Those
// of uca1400 are numbered by character set. Those that MariaDB has of MySQL (utf8mb4_..._0900_...) are not among them: a
// statement cannot come to them without naming utf8mb4.
func isUTF8MB4(low, high byte) bool {
	switch id := int(high)<<8 | int(low); {
	case id == 45, id == 46, id >= 224 && id <= 247, id >= 608 && id <= 639:
		return true
	case id == 1069, id == 1070, id >= 1248 && id <= 1271, id >= 1632 && id <= 1663: // NOPAD
		return true
	default:
		return id >= 0x900 && id <= 0x9ff // uca1400
	}
}
