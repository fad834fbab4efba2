package dump

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func columnsOf(kinds ...ColumnKind) []Column {
	columns := make([]Column, len(kinds))
	for i, k := range kinds {
		columns[i].Kind = k
	}
	return columns
}

func TestAppendFields(t *testing.T) {
	for _, c := range []struct {
		name, row string
		kinds     []ColumnKind
		want      string // empty for false
	}{
		{"several", `(1,'a',NULL)`, []ColumnKind{IntegerColumn, TextColumn, TextColumn}, "1\ta\t\\N\n"},
		{"white space", "( 1 ,\n'a'\t, null )", []ColumnKind{IntegerColumn, TextColumn, TextColumn}, "1\ta\t\\N\n"},
		{"too few", `(1)`, []ColumnKind{IntegerColumn, IntegerColumn}, ""},
		{"too many", `(1,2)`, []ColumnKind{IntegerColumn}, ""},
		{"none", `()`, nil, ""},
		{"no field", `()`, []ColumnKind{TextColumn}, ""},
		{"empty field", `(,1)`, []ColumnKind{IntegerColumn, IntegerColumn}, ""},
		{"not closed", `(1`, []ColumnKind{IntegerColumn}, ""},
		{"something behind", `(1),`, []ColumnKind{IntegerColumn}, ""},
		{"no row", `1`, []ColumnKind{IntegerColumn}, ""},
		{"nothing", ``, []ColumnKind{IntegerColumn}, ""},
		{"other kind", `(NULL)`, []ColumnKind{OtherColumn}, ""},
		{"default", `(DEFAULT)`, []ColumnKind{IntegerColumn}, ""},
		{"function", `(NOW())`, []ColumnKind{TimeColumn}, ""},
		{"variable", `(@a)`, []ColumnKind{TextColumn}, ""},
		{"word that begins with NULL", `(NULLS)`, []ColumnKind{TextColumn}, ""},

		{"integers", `(-1,+2,007,99999999999999999999)`, columnKinds(IntegerColumn, 4), "-1\t+2\t007\t99999999999999999999\n"},
		{"truth", `(TRUE,false)`, columnKinds(IntegerColumn, 2), "1\t0\n"},
		{"truth as text", `(TRUE)`, []ColumnKind{TextColumn}, ""},
		{"integer in quotes", `('12')`, []ColumnKind{IntegerColumn}, "12\n"},
		{"long integer", `(100000000000000000000)`, []ColumnKind{IntegerColumn}, ""},
		{"fraction", `(1.5)`, []ColumnKind{IntegerColumn}, ""},
		{"integer with exponent", `(1e3)`, []ColumnKind{IntegerColumn}, ""},
		{"negative zero", `(-0)`, []ColumnKind{IntegerColumn}, ""},
		{"sum", `(1+1)`, []ColumnKind{IntegerColumn}, ""},
		{"only a sign", `(-)`, []ColumnKind{IntegerColumn}, ""},
		{"hexadecimal integer", `(0x10)`, []ColumnKind{IntegerColumn}, ""},
		{"binary integer", `(0b10)`, []ColumnKind{IntegerColumn}, ""},
		{"bits", `(b'10')`, []ColumnKind{IntegerColumn}, ""},

		{"decimals", `(1.50,-.5,2.,'3.1')`, columnKinds(DecimalColumn, 4), "1.50\t-.5\t2.\t3.1\n"},
		{"decimal with exponent", `(1e2)`, []ColumnKind{DecimalColumn}, ""},
		{"long decimal", `(` + strings.Repeat("1", 30) + `.` + strings.Repeat("2", 30) + `)`, []ColumnKind{DecimalColumn}, ""},
		{"two points", `(1.2.3)`, []ColumnKind{DecimalColumn}, ""},
		{"only a point", `(.)`, []ColumnKind{DecimalColumn}, ""},
		{"floats", `(1.5,-1.5e-3,2E5,3e+4,'1e5')`, columnKinds(FloatColumn, 5), "1.5\t-1.5e-3\t2E5\t3e+4\t1e5\n"},
		{"no exponent", `(1e)`, []ColumnKind{FloatColumn}, ""},
		{"negative zeros", `(-0.0)`, []ColumnKind{FloatColumn}, ""},
		{"negative zero with exponent", `(-0e5)`, []ColumnKind{FloatColumn}, ""},

		{"number as text", `(7)`, []ColumnKind{TextColumn}, ""},
		{"number as date", `(20200101)`, []ColumnKind{TimeColumn}, ""},
		{"index of a list", `(1)`, []ColumnKind{ListColumn}, ""},
		{"number as JSON", `(1)`, []ColumnKind{JSONColumn}, ""},
		{"number as bytes", `(1)`, []ColumnKind{BinaryColumn}, ""},
		{"years", `(1970,2155,0000,'1999')`, columnKinds(YearColumn, 4), "1970\t2155\t0000\t1999\n"},
		{"short year", `(70)`, []ColumnKind{YearColumn}, ""},
		{"short year in quotes", `('70')`, []ColumnKind{YearColumn}, ""},
		{"long year", `(19700)`, []ColumnKind{YearColumn}, ""},
		{"odd year", `(0070)`, []ColumnKind{YearColumn}, ""},
		{"odd year in quotes", `('1x99')`, []ColumnKind{YearColumn}, ""},

		{"escapes", `('\0\b\n\r\t\Z\\')`, []ColumnKind{TextColumn}, `\0\b\n\r\t\Z\\` + "\n"},
		{"escaped quotes", `('it\'s','\"',"'",'"')`, columnKinds(TextColumn, 4), "it's\t\"\t'\t\"\n"},
		{"doubled quotes", `('it''s','''','""',"''","a""")`, columnKinds(TextColumn, 5), "it's\t'\t\"\"\t''\ta\"\n"},
		{"wildcards", `('\%\_%_')`, []ColumnKind{TextColumn}, `\\%\\_%_` + "\n"},
		{"needless escapes", `('\N','\a\x\"\;','N')`, columnKinds(TextColumn, 3), "N\tax\";\tN\n"},
		{"escaped raw bytes", "('\\\t\\\n\\\r\\\x00')", []ColumnKind{TextColumn}, `\t\n\r\0` + "\n"},
		{"raw bytes", "('\t\n\r\x00\x1a\b')", []ColumnKind{TextColumn}, `\t\n\r\0` + "\x1a\b\n"},
		{"late in the text", `('0123456789012345678901\'2')`, []ColumnKind{TextColumn}, "0123456789012345678901'2\n"},
		{"empty", `('',"")`, columnKinds(TextColumn, 2), "\t\n"},
		{"UTF-8", `('naïve 🙂','\é',"` + "\xc3\\\xa9" + `")`, columnKinds(TextColumn, 3), "naïve 🙂\té\té\n"},
		{"part of a character", "('a\xf0\x9f')", []ColumnKind{TextColumn}, ""},
		{"part of a character and a tab", "('\xe2\\t')", []ColumnKind{TextColumn}, ""},
		{"escaped part of a character", "('\\\xe2')", []ColumnKind{BinaryColumn}, ""},
		{"no UTF-8", "('\xff')", []ColumnKind{TextColumn}, ""},
		{"part behind much text", "('0123456789\x80 0123456789\\'0123456789')", []ColumnKind{TextColumn}, ""},
		{"with character set", `(_utf8mb4'a')`, []ColumnKind{TextColumn}, ""},
		{"national", `(N'a')`, []ColumnKind{TextColumn}, ""},
		{"adjacent", `('a' 'b')`, []ColumnKind{TextColumn}, ""},
		{"open", `('a)`, []ColumnKind{TextColumn}, ""},
		{"open behind a backslash", `('a\')`, []ColumnKind{TextColumn}, ""},
		{"generated", `('a')`, nil, ""},

		{"bytes", `('a',_binary 'b\0é',_BINARY"c")`, columnKinds(BinaryColumn, 3), "a\tb\\0é\tc\n"},
		{"bytes that are no UTF-8", "(_binary 'b\x80')", []ColumnKind{BinaryColumn}, ""},
		{"hexadecimal", `(0x4142,x'095c',X'c3A900',x'')`, columnKinds(BinaryColumn, 4), "AB\t\\t\\\\\té\\0\t\n"},
		{"hexadecimal bytes that are no UTF-8", `(0x41ff)`, []ColumnKind{BinaryColumn}, ""},
		{"odd digits", `(0x414)`, []ColumnKind{BinaryColumn}, ""},
		{"odd digits in quotes", `(x'4')`, []ColumnKind{BinaryColumn}, ""},
		{"no digits", `(0x4g)`, []ColumnKind{BinaryColumn}, ""},
		{"a name like digits", `(0x)`, []ColumnKind{BinaryColumn}, ""},
		{"open digits", `(x'41)`, []ColumnKind{BinaryColumn}, ""},
		{"bytes as text", `(_binary 'a')`, []ColumnKind{TextColumn}, ""},
		{"hexadecimal text", `(0x41)`, []ColumnKind{TextColumn}, ""},
		{"hexadecimal text in quotes", `(x'41')`, []ColumnKind{TextColumn}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			columns := columnsOf(c.kinds...)
			if c.name == "generated" {
				columns = []Column{{Kind: TextColumn, Generated: true}}
			}
			for _, before := range []string{"", "x\n"} {
				got, ok := AppendFields([]byte(before), []byte(c.row), columns)
				if string(got) != before+c.want || ok != (c.want != "") {
					t.Errorf("%s: got %q, %v, want %q", c.row, got, ok, before+c.want)
				}
			}
		})
	}
}

func columnKinds(k ColumnKind, n int) []ColumnKind {
	all := make([]ColumnKind, n)
	for i := range all {
		all[i] = k
	}
	return all
}

func FuzzAppendFields(f *testing.F) {
	for _, row := range []string{`(1,'a\'\0',NULL)`, `( 'x''y' , 0x41,_binary "\\")`, `(x'4142',-1.5e-3,TRUE)`, "('\xe2\\t','0000',2020)", `(`, `('\`} {
		f.Add([]byte(row), uint64(0x123456789))
	}
	f.Fuzz(func(t *testing.T, row []byte, kinds uint64) {
		var columns []Column
		for ; kinds > 0; kinds >>= 4 {
			columns = append(columns, Column{Kind: ColumnKind(kinds & 15 % uint64(JSONColumn+1))})
		}
		before := []byte("before")
		got, ok := AppendFields(before, row, columns)
		if !bytes.HasPrefix(got, before) || !ok && len(got) != len(before) {
			t.Fatalf("%q: %q, %v", row, got, ok)
		}
		if !ok {
			return
		}
		if n, what := literalRow(row, 0); what != rowWhole || n != len(row) {
			t.Errorf("%q is no row of literals", row)
		}
		got = got[len(before):]
		if bytes.Count(got, []byte{'\t'}) != len(columns)-1 || bytes.IndexByte(got, '\n') != len(got)-1 || bytes.ContainsAny(got, "\x00\r") {
			t.Errorf("%q: %d columns are written as %q", row, len(columns), got)
		}
	})
}

func BenchmarkAppendFields(b *testing.B) {
	for _, c := range []struct {
		name    string
		columns []Column
		row     func(r *rand.Rand, i int) string
	}{
		{"orders", columnsOf(IntegerColumn, IntegerColumn, DecimalColumn, TextColumn, ListColumn, TimeColumn, TextColumn), func(r *rand.Rand, i int) string {
			return fmt.Sprintf(`(%d,%d,%d.%02d,'Customer number %d','shipped','2026-11-%02d 10:%02d:00',NULL)`, i, r.IntN(1e6), r.IntN(1000), r.IntN(100), i%1000, i%28+1, i%60)
		}},
		{"numbers", columnsOf(IntegerColumn, IntegerColumn, IntegerColumn, FloatColumn), func(r *rand.Rand, i int) string {
			return fmt.Sprintf(`(%d,%d,%d,%g)`, i, r.IntN(1e6), r.IntN(100), r.Float64())
		}},
		{"text", columnsOf(IntegerColumn, TextColumn), func(_ *rand.Rand, i int) string {
			return fmt.Sprintf(`(%d,'%s')`, i, strings.Repeat(`It\'s a note of some words,\nas people write them; `, 8))
		}},
		{"Cyrillic", columnsOf(IntegerColumn, TextColumn), func(_ *rand.Rand, i int) string {
			return fmt.Sprintf(`(%d,'%s')`, i, strings.Repeat(`Съешь ещё этих мягких французских булок. `, 4))
		}},
		{"hex", columnsOf(IntegerColumn, BinaryColumn), func(_ *rand.Rand, i int) string {
			return fmt.Sprintf(`(%d,0x%x)`, i, strings.Repeat("Some bytes\n", 10))
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var rows [][]byte
			size := 0
			for r := rand.New(rand.NewPCG(1, 2)); size < 1<<20; {
				rows = append(rows, []byte(c.row(r, len(rows))))
				size += len(rows[len(rows)-1])
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			to := make([]byte, 0, 2*size)
			for b.Loop() {
				to = to[:0]
				var ok bool
				for _, row := range rows {
					if to, ok = AppendFields(to, row, c.columns); !ok {
						b.Fatal(string(row))
					}
				}
			}
		})
	}
}
