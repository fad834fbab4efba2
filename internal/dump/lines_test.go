package dump

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLineFormat finds the ends of rows, at whatever byte a piece of the text ends.
func TestLineFormat(t *testing.T) {
	tab := LineFormat{Lines: "\n", Fields: "\t", Escaped: '\\'}
	csv := LineFormat{Lines: "\n", Fields: ",", Escaped: '\\', Enclosed: '"'}
	for _, c := range []struct {
		name   string
		format LineFormat
		text   string
		want   []string
		fields int // of the first row
	}{
		{"plain", tab, "1\ta\n2\tb\n", []string{"1\ta\n", "2\tb\n"}, 2},
		{"an escaped newline", tab, "1\ta\\\nb\n2\tc\n", []string{"1\ta\\\nb\n", "2\tc\n"}, 2},
		{"an escaped backslash before the end", tab, "1\ta\\\\\n2\tc\n", []string{"1\ta\\\\\n", "2\tc\n"}, 2},
		{"an escaped tab", tab, "1\ta\\\tb\n", []string{"1\ta\\\tb\n"}, 2},
		{"cut", tab, "1\ta\n2", []string{"1\ta\n"}, 2},
		{"without escapes", LineFormat{Lines: "\n", Fields: "\t"}, "1\\\n2\n", []string{"1\\\n", "2\n"}, 1},
		{"longer ends", LineFormat{Lines: "\r\n", Fields: "||", Escaped: '\\'}, "1||a\nb|\r\n2||c\r\n", []string{"1||a\nb|\r\n", "2||c\r\n"}, 2},
		{"quotes", csv, "\"1\",\"a\nb\"\n\"2\",\"c\"\n", []string{"\"1\",\"a\nb\"\n", "\"2\",\"c\"\n"}, 2},
		{"doubled quotes", csv, "1,\"a\"\"\n\"\n2,c\n", []string{"1,\"a\"\"\n\"\n", "2,c\n"}, 2},
		{"an escaped quote", csv, "1,\"a\\\"\n\",x\n", []string{"1,\"a\\\"\n\",x\n"}, 3},
		{"a quote inside", csv, "1,a\"b\n2,c\n", []string{"1,a\"b\n", "2,c\n"}, 2},
		{"a quote that ends nothing", csv, "1,\"a\"b\n\"\n", []string{"1,\"a\"b\n\"\n"}, 2},
		{"not closed", csv, "1,\"a\n2,b\n", nil, 0},
		{"NULL", csv, "\\N,\"x\"\n", []string{"\\N,\"x\"\n"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			for cut := range len(c.text) + 1 {
				got := c.format.rows(c.text, cut)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Fatalf("cut at %d: %s", cut, diff)
				}
			}
			if len(c.want) > 0 && c.format.Count([]byte(c.want[0])) != c.fields {
				t.Errorf("%d fields, want %d", c.format.Count([]byte(c.want[0])), c.fields)
			}
		})
	}
}

// rows returns the rows of a text that is read up to cut at first.
func (f LineFormat) rows(text string, cut int) []string {
	ends := f.Ends(nil, []byte(text[:cut]), false)
	begin := 0
	if len(ends) > 0 {
		begin = ends[len(ends)-1]
	}
	for _, end := range f.Ends(nil, []byte(text[begin:]), true) {
		ends = append(ends, begin+end)
	}
	var rows []string
	from := 0
	for _, end := range ends {
		rows, from = append(rows, text[from:end]), end
	}
	return rows
}
