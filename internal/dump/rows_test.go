package dump

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// byRows splits a dump by rows: "H head", "R row" and "S statement" each.
func byRows(r io.Reader) ([]string, error) {
	s := NewScanner(r, "")
	s.ByRows()
	var all []string
	for {
		st, err := s.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if st.Rows == nil {
			all = append(all, "S "+string(st.Text)+st.Delimiter)
			continue
		}
		all = append(all, "H "+string(st.Text))
		from := 0
		for _, end := range st.Ends {
			all = append(all, "R "+strings.TrimLeft(string(st.Rows[from:end]), ", \n\t\r"))
			from = end
		}
		if from != len(st.Rows) {
			all = append(all, "rest "+string(st.Rows[from:]))
		}
	}
}

func TestRows(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"one", "INSERT INTO `t` VALUES (1,'a');", []string{"H INSERT INTO `t` VALUES ", "R (1,'a')"}},
		{"two, spread", "insert into t\nvalues\n ( 1 , 'a' ) ,\n(2,NULL)\n;", []string{"H insert into t\nvalues\n ", "R ( 1 , 'a' )", "R (2,NULL)"}},
		{"columns", "REPLACE `d`.`t`(`a`, b) VALUES(1,2);SELECT 1;", []string{"H REPLACE `d`.`t`(`a`, b) VALUES", "R (1,2)", "S SELECT 1;"}},
		{"names like words", "INSERT INTO values1 (`values`,`select`) VALUES (1,2);", []string{"H INSERT INTO values1 (`values`,`select`) VALUES ", "R (1,2)"}},
		{"strings", `INSERT t VALUE ('it\'s','a''b',"x\"'",'\\','a' 'b');`, []string{"H INSERT t VALUE ", `R ('it\'s','a''b',"x\"'",'\\','a' 'b')`}},
		{"parentheses in strings", "INSERT t VALUES ('),(',');');", []string{"H INSERT t VALUES ", "R ('),(',');')"}},
		{"literals", "INSERT t VALUES (0x1F,x'6d',X'6D',b'01',N'x',_binary 'x\\0',_utf8mb4'x',_binary 0x41,_latin1 x'41',-1.5e-3,+.5,1E5,TRUE,false,DEFAULT,null);",
			[]string{"H INSERT t VALUES ", "R (0x1F,x'6d',X'6D',b'01',N'x',_binary 'x\\0',_utf8mb4'x',_binary 0x41,_latin1 x'41',-1.5e-3,+.5,1E5,TRUE,false,DEFAULT,null)"}},
		{"no backslash escapes", "SET sql_mode='NO_BACKSLASH_ESCAPES';INSERT t VALUES ('a\\'),('b');", []string{"S SET sql_mode='NO_BACKSLASH_ESCAPES';", "H INSERT t VALUES ", `R ('a\')`, "R ('b')"}},
		{"ansi quotes", "SET sql_mode='ANSI';INSERT t VALUES (\"a\");", []string{"S SET sql_mode='ANSI';", "S INSERT t VALUES (\"a\");"}},
		{"at the end", "INSERT t VALUES (1)\n", []string{"H INSERT t VALUES ", "R (1)"}},
		{"other delimiter", "DELIMITER //\nINSERT t VALUES (1)//\nINSERT t VALUES (2);//", []string{"H INSERT t VALUES ", "R (1)", "S INSERT t VALUES (2);//"}},
		{"ignore", "INSERT IGNORE INTO t VALUES (1);", []string{"H INSERT IGNORE INTO t VALUES ", "R (1)"}},
		// As they are.
		{"function", "INSERT t VALUES (1),(NOW());", []string{"S INSERT t VALUES (1),(NOW());"}},
		{"expression", "INSERT t VALUES (1+1);", []string{"S INSERT t VALUES (1+1);"}},
		{"column", "INSERT t VALUES (1,a);", []string{"S INSERT t VALUES (1,a);"}},
		{"variable", "INSERT t VALUES (@x);", []string{"S INSERT t VALUES (@x);"}},
		{"no value", "INSERT t VALUES ();", []string{"S INSERT t VALUES ();"}},
		{"duplicates", "INSERT t VALUES (1) ON DUPLICATE KEY UPDATE a=1;", []string{"S INSERT t VALUES (1) ON DUPLICATE KEY UPDATE a=1;"}},
		{"returning", "INSERT t VALUES (1) RETURNING a;", []string{"S INSERT t VALUES (1) RETURNING a;"}},
		{"select", "INSERT INTO t (a) SELECT 1;", []string{"S INSERT INTO t (a) SELECT 1;"}},
		{"select of values", "INSERT INTO t SELECT * FROM (VALUES (1)) v;", []string{"S INSERT INTO t SELECT * FROM (VALUES (1)) v;"}},
		{"set", "INSERT INTO t SET a=1;", []string{"S INSERT INTO t SET a=1;"}},
		{"partition", "INSERT INTO t PARTITION (p) VALUES (1);", []string{"S INSERT INTO t PARTITION (p) VALUES (1);"}},
		{"comment before", "INSERT /* x */ INTO t VALUES (1);", []string{"S INSERT /* x */ INTO t VALUES (1);"}},
		{"comment inside", "INSERT INTO t VALUES (1 -- x\n);", []string{"S INSERT INTO t VALUES (1 -- x\n);"}},
		{"versioned", "INSERT INTO t VALUES (/*!50705 0x00*/);", []string{"S INSERT INTO t VALUES (/*!50705 0x00*/);"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for size := 1; size < 40; size += 3 {
				got, err := byRows(&oddReader{strings.NewReader(c.in), size})
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Fatalf("reads of %d: %s", size, d)
				}
			}
		})
	}
}

// joined puts what a Scanner gives out by rows together again, and returns the statements as
// one that does not gives them.
func joined(r io.Reader) ([]scanned, error) {
	s := NewScanner(r, "x.sql")
	s.ByRows()
	var all []scanned
	var open *scanned
	for {
		st, err := s.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if open != nil {
			open.Text += "," + string(st.Rows)
		} else {
			all = append(all, scanned{Text: string(st.Text) + string(st.Rows), Line: st.Line, Offset: st.Offset})
		}
		last := &all[len(all)-1]
		last.EndLine, last.Delimiter = st.EndLine, st.Delimiter
		if open = nil; st.More {
			open = last
		}
	}
}

// TestRowsOfLargeStatement scans an INSERT that is not held whole.
func TestRowsOfLargeStatement(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("INSERT INTO t VALUES ")
	rows := 0
	for ; b.Len() < 3*maxHeld; rows++ {
		fmt.Fprintf(&b, "(%d,'%s'),", rows, strings.Repeat("x", 100))
	}
	in := b.Bytes()
	in[len(in)-1] = ';'
	s := NewScanner(bytes.NewReader(in), "")
	s.ByRows()
	seen, parts := 0, 0
	for {
		st, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		seen += len(st.Ends)
		parts++
		if string(st.Text) != "INSERT INTO t VALUES " || st.More != (seen < rows) {
			t.Fatalf("part %d: %q, more: %v", parts, st.Text, st.More)
		}
		if s := len(st.Rows); s > maxHeld {
			t.Errorf("a part of %d bytes", s)
		}
	}
	if seen != rows || parts < 3 {
		t.Errorf("%d rows of %d in %d parts", seen, rows, parts)
	}
	if cap(s.f.buf) > maxHeld {
		t.Errorf("%d bytes are held", cap(s.f.buf))
	}
	for _, odd := range []string{" ON DUPLICATE KEY UPDATE a=1;", ",(NOW());", ",(1", ""} {
		if odd == "" {
			in = in[:len(in)-3]
		}
		if _, err := byRows(bytes.NewReader(append(in[:len(in)-1:len(in)-1], odd...))); err == nil {
			t.Errorf("nothing is said about %q behind it", odd)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	for _, c := range []struct {
		name      string
		statement int
	}{{"extended", 1 << 20}, {"one row", 0}} {
		b.Run(c.name, func(b *testing.B) {
			in := mysqldumpLike(64<<20, c.statement)
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				s := NewScanner(bytes.NewReader(in), "")
				s.ByRows()
				for {
					if _, err := s.Next(); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// slowReader gives little at a time, as a decompressor does.
type slowReader struct{ r io.Reader }

func (s slowReader) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), 4<<10)]) }

// TestLargeRow: the time for a row follows its size, and not the square of it. That would be hours
// here.
func TestLargeRow(t *testing.T) {
	const size = 128 << 20
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	in := io.MultiReader(strings.NewReader("INSERT INTO t VALUES (1,'"), io.LimitReader(repeated('x'), size), strings.NewReader("'),(2,'b');"))
	s := NewScanner(Until(ctx, slowReader{in}), "")
	s.ByRows()
	rows, bytes := 0, 0
	for {
		st, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows, bytes = rows+len(st.Ends), bytes+len(st.Rows)
	}
	if rows != 2 || bytes < size {
		t.Errorf("%d rows in %d bytes", rows, bytes)
	}
}

// TestUntil: a statement that goes on and on is given up when the caller wants to end.
func TestUntil(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	s := NewScanner(Until(ctx, io.MultiReader(strings.NewReader("INSERT INTO t VALUES (1,'"), endless{stop, new(int)})), "")
	s.ByRows()
	if _, err := s.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

type repeated byte

func (c repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}

// endless calls stop on the way.
type endless struct {
	stop  func()
	reads *int
}

func (e endless) Read(p []byte) (int, error) {
	if *e.reads++; *e.reads == 5 {
		e.stop()
	}
	return repeated('x').Read(p)
}
