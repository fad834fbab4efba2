package dumpdir

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// loadStatement matches what mydumper writes to have a file of rows loaded, up to the table's name.
var loadStatement = regexp.MustCompile("(?is)^LOAD\\s+DATA\\s+LOCAL\\s+INFILE\\s+'((?:[^'\\\\]|\\\\.)*)'\\s+(?:REPLACE\\s+|IGNORE\\s+)?INTO\\s+TABLE\\s+[`\"]((?:[^`\"]|``|\"\")+)[`\"]\\s*(.*)$")

// skipLines matches a number of lines that are no rows, and loadList where the columns begin.
var (
	skipLines = regexp.MustCompile(`(?i)\bIGNORE\s+(\d+)\s+LINES\b`)
	clauses   = regexp.MustCompile(`(?is)\b(TERMINATED|ENCLOSED|ESCAPED|STARTING)\s+BY\s+'((?:[^'\\]|\\.|'')*)'`)
)

// loadData adds the files that the statements of another one load.
func (m *mydumperDir) loadData(name, inFile string, more bool) error {
	in, err := m.open(name, io.Discard)
	if err != nil {
		return err
	}
	defer in.Close()
	settings := m.settings()
	var parts []dump.Part
	scanner := dump.NewScanner(in, m.show(name))
	for {
		st, err := scanner.Next()
		if err == io.EOF { //nolint:errorlint // the scanner returns it as it is
			break
		}
		if err != nil {
			return err
		}
		if kind := dump.Classify(st.Text, st.Delimiter).Kind; kind == dump.StatementSet {
			settings = append(settings, string(st.Text))
			continue
		}
		match := loadStatement.FindSubmatch(bytes.TrimSpace(st.Text))
		if match == nil {
			return &dump.Error{File: m.show(name), Line: st.Line, Msg: "beside a file of rows there is a statement that is no LOAD DATA", Hint: again}
		}
		p, err := m.loadPart(name, inFile, st.Line, match)
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	for i := range parts {
		parts[i].Settings = settings
		parts[i].Rows.More = more || i+1 < len(parts)
	}
	m.dump.Parts = append(m.dump.Parts, parts...)
	return nil
}

// loadPart returns the part of a LOAD DATA statement.
func (m *mydumperDir) loadPart(name, inFile string, line int, match [][]byte) (dump.Part, error) {
	fault := func(format string, args ...any) error {
		return &dump.Error{File: m.show(name), Line: line, Msg: fmt.Sprintf(format, args...), Hint: again}
	}
	file := unescape(string(match[1]))
	if strings.ContainsAny(file, "/\\\x00") || file == ".." {
		return dump.Part{}, fault("LOAD DATA names a file outside of this directory, %s, which a load never reads", file)
	}
	found := m.find(bare(file))
	if found == "" {
		return dump.Part{}, fault("LOAD DATA names the file %s, which is not there", file)
	}
	m.used[found] = true
	rows, ok := parseLoad(string(match[3]))
	if !ok {
		return dump.Part{}, fault("LOAD DATA says in a way that is not understood where rows and fields end")
	}
	rows.Table = strings.ReplaceAll(string(match[2]), "``", "`")
	return m.rows(found, m.databases[inFile], nil, rows), nil
}

// parseLoad reads what stands behind the table's name.
func parseLoad(text string) (dump.RowFile, bool) {
	f := dump.RowFile{Bytes: -1, Lines: dump.LineFormat{Lines: "\n", Fields: "\t", Escaped: '\\'}}
	if s := skipLines.FindStringSubmatch(text); s != nil {
		if _, err := fmt.Sscan(s[1], &f.Skip); err != nil {
			return f, false
		}
		text = strings.Replace(text, s[0], "", 1)
	}
	for _, c := range clauses.FindAllStringSubmatchIndex(text, -1) {
		value, one := unescape(text[c[4]:c[5]]), byte(0)
		if len(value) > 0 {
			one = value[0]
		}
		lines := strings.Contains(strings.ToUpper(text[:c[0]]), "LINES")
		switch word := strings.ToUpper(text[c[2]:c[3]]); {
		case word == "TERMINATED" && lines:
			f.Lines.Lines = value
		case word == "TERMINATED":
			f.Lines.Fields = value
		case word == "ENCLOSED":
			f.Lines.Enclosed = one
		case word == "ESCAPED":
			f.Lines.Escaped = one
		}
	}
	f.Options = text
	if i := listBegin(text); i >= 0 {
		f.Options, f.Columns = text[:i], text[i:]
	}
	return f, f.Lines.Lines != "" && f.Lines.Fields != ""
}

// listBegin returns where the list of columns begins, outside of strings, or -1.
func listBegin(text string) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '\'':
			quoted = !quoted
		case c == '(' && !quoted:
			return i
		}
	}
	return -1
}

// unescape returns the value of a string of SQL without its quotes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\'' && i+1 < len(s):
			i++
		case c == '\\' && i+1 < len(s):
			i++
			if c = s[i]; strings.IndexByte("0bnrtZ", c) >= 0 {
				c = map[byte]byte{'0': 0, 'b': '\b', 'n': '\n', 'r': '\r', 't': '\t', 'Z': 26}[c]
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}
