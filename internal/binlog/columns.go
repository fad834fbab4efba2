package binlog

// Types of columns, enum_field_types:
// https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html, and of MariaDB
// https://github.com/MariaDB/server/blob/11.8/include/mysql.h.pp
const (
	typeTiny              = 1
	typeShort             = 2
	typeLong              = 3
	typeFloat             = 4
	typeDouble            = 5
	typeNull              = 6
	typeTimestamp         = 7
	typeLongLong          = 8
	typeInt24             = 9
	typeDate              = 10
	typeTime              = 11
	typeDatetime          = 12
	typeYear              = 13
	typeNewDate           = 14
	typeVarchar           = 15
	typeBit               = 16
	typeTimestamp2        = 17
	typeDatetime2         = 18
	typeTime2             = 19
	typeTypedArray        = 20
	typeBlobCompressed    = 140 // MariaDB
	typeVarcharCompressed = 141 // MariaDB
	typeVector            = 242 // MySQL 9
	typeJSON              = 245 // MySQL
	typeDecimal           = 246
	typeEnum              = 247
	typeSet               = 248
	typeTinyBlob          = 249
	typeMediumBlob        = 250
	typeLongBlob          = 251
	typeBlob              = 252
	typeVarString         = 253
	typeString            = 254
	typeGeometry          = 255
)

// column tells how long a value is in a row image.
type column struct {
	// size is that of the value or, where that varies, minus the size of the length
	// that stands before it.
	size int32
	typ  byte
}

// sizeUnknown marks a column whose values have an unknown length.
const sizeUnknown = -100

// newColumn reads a column's part of the metadata. What that holds of each type is said
// at Table_map_event,
// https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html
func newColumn(t byte, meta *reader) column {
	return column{columnSize(t, meta), t}
}

func columnSize(t byte, meta *reader) int32 {
	switch t {
	case typeTiny, typeYear:
		return 1
	case typeShort:
		return 2
	case typeInt24, typeDate, typeNewDate:
		return 3
	case typeLong:
		return 4
	case typeLongLong:
		return 8
	case typeNull:
		return 0
	case typeFloat, typeDouble:
		return fixed(meta.uint(1), 8)
	case typeTimestamp2:
		return fraction(4, meta)
	case typeDatetime2:
		return fraction(5, meta)
	case typeTime2:
		return fraction(3, meta)
	case typeBlob, typeTinyBlob, typeMediumBlob, typeLongBlob, typeGeometry, typeJSON, typeVector, typeBlobCompressed:
		if n := fixed(meta.uint(1), 4); n > 0 {
			return -n
		}
		return sizeUnknown
	case typeVarchar, typeVarString, typeVarcharCompressed:
		return prefix(meta.uint(2))
	case typeBit:
		bits, bytes := meta.uint(1), meta.uint(1)
		if bits > 7 {
			meta.fail("a BIT column of %d odd bits", bits)
		}
		if bits > 0 {
			bytes++
		}
		return int32(bytes)
	case typeDecimal:
		return decimal(meta)
	case typeEnum, typeSet, typeString:
		return stringSize(meta)
	case typeTypedArray:
		skipArray(meta)
	}
	return oldTemporal(t)
}

// oldTemporal is the size of the types from before MySQL 5.6, which MariaDB still makes
// with mysql56_temporal_format=OFF. With fractions of a second they are longer under the
// same number, and no metadata tells; so they are not known. DATE and YEAR have no such
// forms.
func oldTemporal(byte) int32 { return sizeUnknown }

// fixed checks a size that the metadata names.
func fixed(n uint64, most int32) int32 {
	if n == 0 || n > uint64(most) {
		return sizeUnknown
	}
	return int32(n)
}

// fraction is a time of so many bytes with fractions of a second behind it, two digits
// in a byte.
func fraction(whole int32, meta *reader) int32 {
	digits := meta.uint(1)
	if digits > 6 {
		meta.fail("%d digits of a second", digits)
		return sizeUnknown
	}
	return whole + int32(digits+1)/2
}

// prefix is the length before a string of at most so many bytes, as a size.
func prefix(most uint64) int32 {
	if most > 255 {
		return -2
	}
	return -1
}

// decimalBytes are what so many digits take that do not fill the four bytes of nine.
var decimalBytes = [9]int32{0, 1, 1, 2, 2, 3, 3, 4, 4}

// decimal is a DECIMAL(precision, scale): digits before and after the point in groups
// of nine. https://dev.mysql.com/doc/refman/9.7/en/precision-math-decimal-characteristics.html
func decimal(meta *reader) int32 {
	precision, scale := int32(meta.uint(1)), int32(meta.uint(1))
	if scale > precision || precision == 0 {
		meta.fail("a DECIMAL(%d,%d)", precision, scale)
		return sizeUnknown
	}
	whole := precision - scale
	return whole/9*4 + decimalBytes[whole%9] + scale/9*4 + decimalBytes[scale%9]
}

// stringSize is that of CHAR and BINARY, behind which ENUM and SET hide: the first byte
// of the metadata is the real type. A CHAR's length has ten bits; the upper two are in
// the type's byte, in reverse order.
func stringSize(meta *reader) int32 {
	real, n := meta.uint(1), meta.uint(1)
	switch real {
	case typeEnum, typeSet:
		return fixed(n, 8)
	case 0: // a type without its real one
		return prefix(n)
	}
	if real|0x30 != typeString {
		return sizeUnknown
	}
	return prefix((real&0x30^0x30)<<4 | n)
}

// skipArray passes over the metadata of the values of a multi-valued index. They stand
// in no row image.
func skipArray(meta *reader) {
	switch byte(meta.uint(1)) {
	case typeFloat, typeDouble, typeTimestamp2, typeDatetime2, typeTime2, typeBlob, typeTinyBlob, typeMediumBlob,
		typeLongBlob, typeGeometry, typeJSON, typeVector:
		meta.take(1)
	case typeVarchar, typeVarString:
		meta.take(3)
	case typeBit, typeDecimal, typeEnum, typeSet, typeString:
		meta.take(2)
	}
}

// length returns how many bytes the value takes that b begins with, or -1 if b ends before.
func (c column) length(b []byte) int {
	n := int(c.size)
	if n < 0 {
		if n = -n; n > len(b) {
			return -1
		}
		switch n {
		case 1:
			n += int(b[0])
		case 2:
			n += int(le.Uint16(b))
		case 3:
			n += int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		case 4:
			n += int(le.Uint32(b))
		default:
			return -1
		}
	}
	if n > len(b) {
		return -1
	}
	return n
}
