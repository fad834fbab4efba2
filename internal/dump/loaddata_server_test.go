package dump

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// loader has one connection to a server.
type loader struct {
	*testing.T
	srv  *servertest.Running
	conn *sql.Conn
	data []byte // what LOAD DATA reads
}

const loadFormat = ` CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n' `

func newLoader(t *testing.T, want string) *loader {
	t.Helper()
	l := &loader{T: t, srv: servertest.Start(t, servertest.Find(t, want))}
	db, err := dbconn.Open(l.srv.Endpoint.Socket, l.srv.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if l.conn, err = db.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.conn.Close() })
	mysql.RegisterReaderHandler("loaddata", func() io.Reader { return bytes.NewReader(l.data) })
	t.Cleanup(func() { mysql.DeregisterReaderHandler("loaddata") })
	for _, statement := range []string{"SET NAMES utf8mb4", "SET GLOBAL local_infile = ON", "CREATE DATABASE d", "USE d"} {
		l.must(statement)
	}
	return l
}

func (l *loader) must(statement string) {
	l.Helper()
	if _, err := l.conn.ExecContext(l.Context(), statement); err != nil {
		l.Fatalf("%.300q: %v", statement, err)
	}
}

// try returns what the server says of a statement: an error, warnings and notes, or nothing.
func (l *loader) try(statement string) string {
	l.Helper()
	if _, err := l.conn.ExecContext(l.Context(), statement); err != nil {
		return err.Error()
	}
	return strings.Join(slices.Concat(l.rows("SHOW WARNINGS", 3)...), " ")
}

// rows returns the result of a query with n columns; a NULL is "NULL".
func (l *loader) rows(query string, n int) [][]string {
	l.Helper()
	rows, err := l.conn.QueryContext(l.Context(), query)
	if err != nil {
		l.Fatalf("%.300q: %v", query, err)
	}
	defer rows.Close()
	var all [][]string
	for rows.Next() {
		values, to := make([]sql.NullString, n), make([]any, n)
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			l.Fatal(err)
		}
		row := make([]string, n)
		for i, v := range values {
			if row[i] = v.String; !v.Valid {
				row[i] = "NULL"
			}
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		l.Fatal(err)
	}
	return all
}

// loadColumns are those of the tables with random rows; shown is what makes a text of a value
// without losing any of it.
var loadColumns = []struct {
	def   string
	kind  ColumnKind
	shown string
	value func(r *rand.Rand) string
}{
	{"TINYINT", IntegerColumn, "%s", func(r *rand.Rand) string { return strconv.Itoa(r.IntN(256) - 128) }},
	{"BIGINT", IntegerColumn, "CONCAT(%s)", func(r *rand.Rand) string { return strconv.FormatInt(int64(r.Uint64()), 10) }},
	{"BIGINT UNSIGNED", IntegerColumn, "CONCAT(%s)", func(r *rand.Rand) string { return oneOf(r, "18446744073709551615", fmt.Sprint(r.Uint64()), "'17'") }},
	{"BOOL", IntegerColumn, "%s", func(r *rand.Rand) string { return oneOf(r, "TRUE", "false", "0", "1") }},
	{"DECIMAL(30,10)", DecimalColumn, "CONCAT(%s)", func(r *rand.Rand) string {
		return fmt.Sprintf(oneOf(r, "%d.%d", "-%d.%d", "'%d.%d'", "+%d.%d"), r.Int64(), 1+r.IntN(1e9))
	}},
	{"DECIMAL(65,30)", DecimalColumn, "CONCAT(%s)", func(r *rand.Rand) string { return fmt.Sprintf("%d%d.%d", r.Int64(), r.IntN(1e9), r.Int64()) }},
	{"DOUBLE", FloatColumn, "CONCAT(%s * 1e0)", func(r *rand.Rand) string {
		if f := math.Float64frombits(r.Uint64()); math.Abs(f) <= math.MaxFloat64 {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
		return oneOf(r, strconv.FormatFloat(r.NormFloat64(), 'f', -1, 64), "18446744073709551615", "9007199254740993", "'1e3'", "4.9e-324", ".5")
	}},
	{"FLOAT", FloatColumn, "CONCAT(%s * 1e0)", func(r *rand.Rand) string { return strconv.FormatFloat(r.NormFloat64()*1e6, 'f', -1, 32) }},
	{"VARCHAR(500)", TextColumn, "%s", func(r *rand.Rand) string { return randomText(r, "🙂", "ж", "\u00a0") }},
	{"VARCHAR(500) CHARACTER SET latin1", TextColumn, "%s", func(r *rand.Rand) string { return randomText(r, "é", "€", "ÿ") }},
	{"VARCHAR(500) CHARACTER SET utf16", TextColumn, "%s", func(r *rand.Rand) string { return randomText(r, "🙂", "ж") }},
	{"CHAR(200)", TextColumn, "%s", func(r *rand.Rand) string { return randomText(r, "é") }},
	{"MEDIUMTEXT", TextColumn, "%s", func(r *rand.Rand) string {
		if r.IntN(500) == 0 {
			return "'" + strings.Repeat("a long text\\n\t🙂", 100000) + "'"
		}
		return randomText(r, "\U0010ffff", "NULL")
	}},
	{"VARBINARY(500)", BinaryColumn, "%s", func(r *rand.Rand) string { return oneOf(r, "", "_binary ", "_BINARY") + randomText(r, "🙂") }},
	{"BINARY(60)", BinaryColumn, "%s", randomHex},
	{"BLOB", BinaryColumn, "%s", randomHex},
	{"DATE", TimeColumn, "CONCAT(%s)", func(r *rand.Rand) string {
		return oneOf(r, "'0000-00-00'", "'9999-12-31'", "'2024-02-29'", "'2020-00-00'")
	}},
	{"DATETIME(6)", TimeColumn, "CONCAT(%s)", func(r *rand.Rand) string {
		return oneOf(r, "'0000-00-00 00:00:00'", "'2020-02-03 04:05:06.7'", time.UnixMicro(r.Int64N(4e15)).UTC().Format("'2006-01-02 15:04:05.000000'"))
	}},
	{"TIMESTAMP NULL", TimeColumn, "CONCAT(%s)", func(r *rand.Rand) string {
		return oneOf(r, "'0000-00-00 00:00:00'", time.Unix(r.Int64N(2e9), 0).UTC().Format("'2006-01-02 15:04:05'"))
	}},
	{"TIME(3)", TimeColumn, "CONCAT(%s)", func(r *rand.Rand) string { return oneOf(r, "'-838:59:59'", "'10:11:12.123'", `"00:00"`) }},
	{"YEAR", YearColumn, "CONCAT(%s)", func(r *rand.Rand) string { return oneOf(r, "1901", "2155", "0000", "'1999'", "'0000'") }},
	{`ENUM('a','b''c','ü','1','tab\there','','back\\slash')`, ListColumn, "CONCAT(%[1]s, %[1]s + 0)", func(r *rand.Rand) string {
		return oneOf(r, "'a'", "'b''c'", `'b\'c'`, "'ü'", "'1'", "'tab\there'", `'tab\there'`, "''", `'back\\slash'`)
	}},
	{"SET('a','ü','1')", ListColumn, "CONCAT(%[1]s, %[1]s + 0)", func(r *rand.Rand) string { return oneOf(r, "''", "'a'", "'1,a'", "'ü,a,1'") }},
	{"JSON", JSONColumn, "CAST(%s AS CHAR)", func(r *rand.Rand) string {
		text, err := json.Marshal(map[string]any{"a\t\"'\\%": "é🙂\n\x00/" + fmt.Sprint(r.Uint64()), "n": []any{r.NormFloat64(), nil, true}})
		if err != nil {
			panic(err)
		}
		return oneOf(r, "'null'", "'[]'", `'\"\\\\\"'`, "'"+strings.NewReplacer(`\`, `\\`, `'`, `\'`, `"`, `\"`).Replace(string(text))+"'")
	}},
	{"BLOB", BinaryColumn, "%s", func(r *rand.Rand) string { return oneOf(r, "''", "x''", `'\\'`, "'é'", "'\\\n'", "NULL", "'N'") }},
}

func oneOf[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// randomText is a string in either quotes, of what matters and the characters of others.
func randomText(r *rand.Rand, others ...string) string {
	pieces := []string{`\0`, `\b`, `\n`, `\r`, `\t`, `\Z`, `\\`, `\'`, `\"`, `\%`, `\_`, `\N`, `\a`, `\ `, `''`, `""`, `"`, "%", "_", "N", ",", ")", " ",
		"\t", "\n", "\r", "\r\n", "\x00", "\x1a", "\b", "\\\t", "\\\n", "\\\x00", "a", "plain text", "0123456789"}
	pieces = append(pieces, others...)
	var b strings.Builder
	for n := r.IntN(20); n > 0; n-- {
		b.WriteString(oneOf(r, pieces...))
	}
	text := "'" + b.String() + "'"
	if r.IntN(4) == 0 {
		return strings.NewReplacer("'", `"`, `"`, "'").Replace(text)
	}
	return text
}

// randomHex is bytes below 0x80 and UTF-8, in digits.
func randomHex(r *rand.Rand) string {
	var text []byte
	for n := r.IntN(50); n > 0; n-- {
		text = append(text, byte(r.IntN(128)))
	}
	digits := hex.EncodeToString(append(text, oneOf(r, "", "é", "🙂")...))
	if digits != "" && r.IntN(2) == 0 {
		return "0x" + digits
	}
	return oneOf(r, "x'", "X'") + strings.ToUpper(digits) + "'"
}

func TestLoadDataEqualsInsert(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLoader(t, want)
		for _, c := range []struct {
			name string
			run  func(*loader)
		}{{"random rows", (*loader).randomRows}, {"odd values", (*loader).oddValues}, {"broken characters", (*loader).brokenCharacters}} {
			t.Run(c.name, func(t *testing.T) {
				l.T = t
				c.run(l)
			})
		}
	})
}

// randomRows inserts rows of all kinds of columns into both tables.
func (l *loader) randomRows() {
	const rows, inserted = 4000, 200
	r := rand.New(rand.NewPCG(1, 2))
	columns := []Column{{Kind: IntegerColumn}}
	defs, names, shown := []string{"id INT AUTO_INCREMENT PRIMARY KEY"}, []string{"id"}, []string{"id"}
	for i, c := range loadColumns {
		name := fmt.Sprintf("c%d", i)
		columns = append(columns, Column{Kind: c.kind})
		defs, names = append(defs, name+" "+c.def), append(names, name)
		shown = append(shown, "HEX("+strings.NewReplacer("%s", name, "%[1]s", name).Replace(c.shown)+")")
	}
	for _, table := range []string{"a", "b"} {
		l.must("CREATE TABLE " + table + " (" + strings.Join(defs, ",") + ", later INT AS (c0 + 1)) DEFAULT CHARACTER SET utf8mb4")
	}
	l.must("SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO'")
	list := "(" + strings.Join(names, ",") + ")"
	l.data = nil
	for first := 0; first < rows; first += inserted {
		var all []string
		for id := first; id < first+inserted; id++ {
			row := []string{oneOf(r, strconv.Itoa(id), fmt.Sprintf("'%d'", id))}
			for _, c := range loadColumns {
				value := c.value(r)
				if r.IntN(10) == 0 {
					value = oneOf(r, "NULL", "null")
				}
				row = append(row, value)
			}
			text := "(" + strings.Join(row, oneOf(r, ",", " ,\n")) + ")"
			var ok bool
			if l.data, ok = AppendFields(l.data, []byte(text), columns); !ok {
				l.Fatalf("%q is not written as fields", text)
			}
			all = append(all, text)
		}
		if said := l.try("INSERT INTO a " + list + " VALUES " + strings.Join(all, ",")); said != "" {
			l.Fatalf("INSERT: %s", said)
		}
	}
	if said := l.try("LOAD DATA LOCAL INFILE 'Reader::loaddata' INTO TABLE b" + loadFormat + list); said != "" {
		l.Fatalf("LOAD DATA: %s", said)
	}
	differing := func() (n int) {
		const all = " FROM %s ORDER BY id"
		query := "SELECT " + strings.Join(shown, ",") + all
		a, b := l.rows(fmt.Sprintf(query, "a"), len(shown)), l.rows(fmt.Sprintf(query, "b"), len(shown))
		if len(a) != rows || len(b) != rows {
			l.Fatalf("%d and %d rows of %d", len(a), len(b), rows)
		}
		for i := range a {
			for c := range a[i] {
				if a[i][c] == b[i][c] {
					continue
				}
				if n++; n < 10 {
					l.Logf("row %s, %s: INSERT has %.300s, LOAD DATA %.300s", a[i][0], defs[c], a[i][c], b[i][c])
				}
			}
		}
		return n
	}
	if n := differing(); n > 0 {
		l.Errorf("%d values differ", n)
	}
	// The comparison can fail.
	l.must("UPDATE b SET c8 = CONCAT(COALESCE(c8, ''), ' ') WHERE id = 1234")
	if n := differing(); n != 1 {
		l.Errorf("%d values differ instead of one", n)
	}
}

// oddValues has single values that the server refuses or changes, in either sql_mode: what makes
// an INSERT fail must not pass LOAD DATA without a warning.
func (l *loader) oddValues() {
	for _, c := range []struct {
		def    string
		kind   ColumnKind
		shown  string
		values []string
	}{
		{"INT", IntegerColumn, "CONCAT(v)", []string{"007", "+5", "99999999999", "-99999999999999999999", "'1.5'", "'2.5'", "'1e2'", "''", "'abc'", "' 5'", "'5 '", "'5a'", `'\t5'`, "'-0'"}},
		{"INT NOT NULL", IntegerColumn, "CONCAT(v)", []string{"NULL"}},
		{"INT PRIMARY KEY AUTO_INCREMENT", IntegerColumn, "CONCAT(v)", []string{"NULL", "0", "'0'", "FALSE", "5"}},
		{"INT UNIQUE DEFAULT 6 CHECK (v < 10)", IntegerColumn, "CONCAT(v)", []string{"5", "50"}},
		{"BIGINT UNSIGNED", IntegerColumn, "CONCAT(v)", []string{"18446744073709551616", "99999999999999999999", "-1", "-18446744073709551615"}},
		{"BIGINT", IntegerColumn, "CONCAT(v)", []string{"9223372036854775808", "-9223372036854775808", "-9223372036854775809", "99999999999999999999"}},
		{"DECIMAL(10,2)", DecimalColumn, "CONCAT(v)", []string{"1.005", "-1.005", ".5", "5.", "+.5", "99999999999.99", "'1e2'", "''", "'abc'", "'-0'",
			"1.00500000000000000000000000000000000000000000001", "1.00499999999999999999999999999999999999999999999"}},
		{"DECIMAL(65,30)", DecimalColumn, "CONCAT(v)", []string{"12345678901234567890123456789012345.123456789012345678901234", "0.1234567890123456789012345678905"}},
		{"DOUBLE", FloatColumn, "CONCAT(v * 1e0)", []string{"123456789012345678901234567890", "1e400", "-1e-400", "4.9e-324", "2.2250738585072011e-308", "'-0'", "'nan'", "''", "1.e5",
			"1.7976931348623159e308", "0.1234567890123456789012345678901234567890123456789"}},
		{"FLOAT", FloatColumn, "CONCAT(v * 1e0)", []string{"16777217", "1e39", "1e-46", "3.4028235e38", "1.00000005960464477540", "1.0000000596046447754"}},
		{"FLOAT(7,2)", FloatColumn, "CONCAT(v * 1e0)", []string{"1.005", "12345.675", "99999.995", "1e10"}},
		{"VARCHAR(5)", TextColumn, "v", []string{"'abcdef'", "'abc     '", "''", "'NULL'", `'\N'`, "'N'"}},
		{"VARCHAR(5) CHARACTER SET latin1", TextColumn, "v", []string{"'€'", "'🙂'", "'ł'"}},
		{"VARCHAR(9) CHARACTER SET sjis", TextColumn, "v", []string{`'ソ表\\'`, "'é'"}},
		{"TINYTEXT", TextColumn, "v", []string{"'" + strings.Repeat("é", 200) + "'"}},
		{"TEXT NOT NULL", TextColumn, "v", []string{"NULL"}},
		{"BINARY(4)", BinaryColumn, "v", []string{"'a'", `'a\0'`, "'a '", "''", "'abcde'", "0x41", "x''"}},
		{"DATE", TimeColumn, "CONCAT(v)", []string{"'2020-02-30'", "'2020-1-2'", "'20200102'", "'2020-01-02 10:00:00'", "''", "'abc'", "'70-01-01'", "'0000-00-00'"}},
		{"DATETIME", TimeColumn, "CONCAT(v)", []string{"'2020-02-30 10:00:00'", "'2020-01-02 10:00:00.999999999'", "'2020-01-02T10:00:00'", "'2020-01-02 10:00:00+02:00'", "'2020-01-02'"}},
		{"DATETIME NOT NULL", TimeColumn, "CONCAT(v)", []string{"NULL"}},
		{"TIMESTAMP NULL", TimeColumn, "CONCAT(v)", []string{"'1970-01-01 00:00:00'", "'2107-01-01 00:00:00'"}},
		{"TIME", TimeColumn, "CONCAT(v)", []string{"'10:00'", "'900:00:00'", "'1 10:00:00'", "'10:00:00.9'", "'101112'", "'2020-01-02 10:00:00'"}},
		{"YEAR", YearColumn, "CONCAT(v)", []string{"1900", "2156", "'2999'", "1000"}},
		{"ENUM('a','b','','1','5')", ListColumn, "CONCAT(v, v + 0)", []string{"'A'", "'2'", "'5'", "'zz'", "'a '", "'0'"}},
		{"SET('a','b','1')", ListColumn, "CONCAT(v, v + 0)", []string{"'3'", "'7'", "'8'", "'a,zz'"}},
		{"JSON", JSONColumn, "v", []string{"''", "'{'", "'[1e3, -0, 123456789012345678901234567890]'"}},
	} {
		l.must("DROP TABLE IF EXISTS a, b")
		l.must("CREATE TABLE a (v " + c.def + ") DEFAULT CHARACTER SET utf8mb4")
		l.must("CREATE TABLE b (v " + c.def + ") DEFAULT CHARACTER SET utf8mb4")
		for _, mode := range []string{"", "STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO", "NO_AUTO_VALUE_ON_ZERO"} {
			l.must("SET SESSION sql_mode = '" + mode + "'")
			for _, value := range c.values {
				l.must("DELETE FROM a")
				l.must("DELETE FROM b")
				var ok bool
				if l.data, ok = AppendFields(nil, []byte("("+value+")"), columnsOf(c.kind)); !ok {
					l.Errorf("%s for %s is not written as a field", value, c.def)
					continue
				}
				inserted := l.try("INSERT INTO a VALUES (" + value + ")")
				loaded := l.try("LOAD DATA LOCAL INFILE 'Reader::loaddata' INTO TABLE b" + loadFormat)
				query := "SELECT HEX(" + c.shown + ") FROM "
				a, b := l.rows(query+"a", 1), l.rows(query+"b", 1)
				if (inserted == "") != (loaded == "") || !strings.HasPrefix(inserted, "Error") && fmt.Sprint(a) != fmt.Sprint(b) {
					l.Errorf("%s for %s with sql_mode %q: INSERT has %v (%s), LOAD DATA %v (%s)", value, c.def, mode, a, inserted, b, loaded)
				}
			}
		}
	}
}

// brokenCharacters shows why values that are no UTF-8 are left to INSERT: MySQL refuses them, or
// loses the last of them without a word, where LOAD DATA is in utf8mb4. MariaDB takes any bytes.
func (l *loader) brokenCharacters() {
	l.must("DROP TABLE IF EXISTS b")
	l.must("CREATE TABLE b (v BLOB, w BLOB)")
	values := []string{"\xff", "a\x80", "\xe0", "\xe2\n", "\xf0\t\n", "\xf0", "\xf0\x9f", "\xed\xa0\x80", "\xf4\x90\x80\x80"}
	for r := rand.New(rand.NewPCG(1, 2)); len(values) < 1000; {
		value := make([]byte, 1+r.IntN(10))
		for i := range value {
			value[i] = oneOf(r, byte(r.IntN(256)), '\t', '\n', 0, '\\', 0xc3, 0xe0, 0xe2, 0xf0, 0x9f)
		}
		if !utf8.Valid(value) {
			values = append(values, string(value))
		}
	}
	refused, lost := 0, 0
	for i, value := range values {
		if _, ok := AppendFields(nil, fmt.Appendf(nil, "(0x%x)", value), columnsOf(BinaryColumn)); ok {
			l.Errorf("%q is written as a field", value)
		}
		var field []byte
		for _, c := range []byte(value) {
			field = appendByte(field, c)
		}
		want := fmt.Sprintf("[[%X 78]]", value)
		l.data = fmt.Appendf(nil, "%s\tx\n", field)
		if i%2 == 0 {
			want = fmt.Sprintf("[[78 %X]]", value)
			l.data = fmt.Appendf(nil, "x\t%s\n", field)
		}
		l.must("DELETE FROM b")
		said := l.try("LOAD DATA LOCAL INFILE 'Reader::loaddata' INTO TABLE b" + loadFormat)
		got := fmt.Sprint(l.rows("SELECT HEX(v), HEX(w) FROM b", 2))
		switch {
		case said != "":
			refused++
		case got != want:
			lost++
		}
	}
	l.Logf("of %d values %d were refused and %d were others", len(values), refused, lost)
	if mariadb := l.srv.Flavour == server.MariaDB; mariadb != (refused == 0) || mariadb != (lost == 0) {
		l.Errorf("this server takes other bytes than those that AppendFields was written for")
	}
}
