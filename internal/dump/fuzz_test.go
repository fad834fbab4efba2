package dump

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// oddReader gives its bytes in pieces of size, size+3, size+6, ... up to 97.
type oddReader struct {
	r    io.Reader
	size int
}

func (o *oddReader) Read(p []byte) (int, error) {
	o.size = o.size%97 + 3
	return o.r.Read(p[:min(len(p), o.size)])
}

// FuzzScanner holds that an input gives the same statements however it is cut
// into reads; that they are those of the slow reference; and that Check passes on
// exactly its input, or, with an error, nothing of the statement at fault.
func FuzzScanner(f *testing.F) {
	for _, c := range splits {
		f.Add([]byte(c.in), uint8(1))
	}
	for _, c := range refusals {
		f.Add([]byte(c.in), uint8(2))
	}
	f.Add([]byte("/*!50001 SELECT 1 /* inner */ + 2 */;SELECT 3;"), uint8(5))
	f.Add([]byte("SELECT /* a /*! b */ c */ 5;/* /*M! */ 1;"), uint8(5))
	// The error shows what a lookahead in a smaller buffer would keep from the head.
	f.Add([]byte("SELECT"+strings.Repeat(" ", 750)+strings.Repeat("1-", 600)+"\x00"), uint8(5))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		if len(data) > 64<<10 {
			t.Skip()
		}
		whole, err := scan(bytes.NewReader(data))
		cut, cutErr := scan(&oddReader{bytes.NewReader(data), int(size)})
		if d := cmp.Diff(whole, cut); d != "" {
			t.Errorf("cut into other reads: %s", d)
		}
		if d := cmp.Diff(text(err), text(cutErr)); d != "" {
			t.Errorf("cut into other reads: %s", d)
		}
		agree(t, data, whole, err)
		passes(t, data, int(size))
	})
}

// pieces are what random inputs are put together from; %d makes a word of its own.
var pieces = []string{" m%d ", " m%d ", "'m%d'", "\"m%d\"", "`m%d`", ";", ";", ";\n", "\n", "\r\n", "'", "\"", "`", "''", `\'`, `\\`, `\N`,
	"-- m%d\n", "--m%d\n", "--\n", "# m%d\n", "/* m%d */", "/*", "*/", "/*!50003 m%d */", "/*M!100100 m%d */", "/*!", "/*M!", "/*/",
	"\nDELIMITER ;;\n", "\nDELIMITER ;\n", "\ndelimiter //\n", "//", ";;", "/", "*", "-", "!", "(1,'m%d',NULL)", "x'6d'", "_binary 'm%d\\0'", "\t"}

// randomDump returns an input of n pieces.
func randomDump(r *rand.Rand, n int) []byte {
	var b bytes.Buffer
	for i := range n {
		p := pieces[r.IntN(len(pieces))]
		if strings.Contains(p, "%d") {
			p = fmt.Sprintf(p, i)
		}
		b.WriteString(p)
	}
	return b.Bytes()
}

func TestScannerRandom(t *testing.T) {
	accepted := 0
	for seed := range uint64(20000) {
		data := randomDump(rand.New(rand.NewPCG(seed, 1)), int(seed%60))
		all, err := scan(&oddReader{bytes.NewReader(data), int(seed)})
		if err == nil {
			accepted++
		}
		agree(t, data, all, err)
		passes(t, data, int(seed))
		if t.Failed() {
			t.Fatalf("seed %d: %q", seed, data)
		}
	}
	if accepted < 1000 {
		t.Errorf("only %d inputs were whole", accepted)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// agree compares statements with the reference, which does not follow sql_mode.
func agree(t *testing.T, data []byte, got []scanned, err error) {
	low := bytes.ToLower(data)
	if bytes.Contains(low, []byte("sql_mode")) || bytes.Contains(low, []byte(`\- enable`)) {
		return
	}
	spans, bad := reference(data)
	if bad && err == nil {
		t.Errorf("accepted what the client would not")
	}
	if len(got) > len(spans) || err == nil && len(got) != len(spans) {
		t.Fatalf("%d statements, the reference has %d: %q", len(got), len(spans), texts(got))
	}
	for i, s := range got {
		want := string(data[spans[i].from:spans[i].to])
		if s.Delimiter == "" {
			want = strings.TrimRightFunc(want, func(r rune) bool { return r <= ' ' || r == 0x7f })
		}
		if s.Offset != int64(spans[i].from) || s.Text != want {
			t.Errorf("statement %d is %q at %d, the reference has %q at %d", i, s.Text, s.Offset, want, spans[i].from)
		}
	}
}

func passes(t *testing.T, data []byte, size int) {
	var big, small bytes.Buffer
	want, wantErr := Check(&big, bytes.NewReader(data), Options{Buffer: 128 << 10})
	got, err := Check(&small, &oddReader{bytes.NewReader(data), size}, Options{Buffer: 1})
	if d := cmp.Diff(text(wantErr), text(err)); d != "" {
		t.Errorf("in a small buffer: %s", d)
	}
	if wantErr != nil {
		if !bytes.HasPrefix(data, small.Bytes()) {
			t.Errorf("passed on what was not in the input")
		}
		return
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(Summary{})); d != "" {
		t.Errorf("in a small buffer: %s", d)
	}
	if !bytes.Equal(big.Bytes(), data) || !bytes.Equal(small.Bytes(), data) {
		t.Errorf("passed on other bytes than the input")
	}
	if want.Bytes != int64(len(data)) {
		t.Errorf("bytes = %d, want %d", want.Bytes, len(data))
	}
}

// FuzzRows holds that a dump split by rows and put together again is the same dump.
func FuzzRows(f *testing.F) {
	for _, c := range splits {
		f.Add([]byte(c.in), uint8(1))
	}
	for _, in := range []string{"INSERT INTO `t` VALUES (1,'a'),\n(NULL,x'00') ;SELECT 1;", "insert t(`a`)value(-1.5e3,_binary'\\'')", "REPLACE t VALUES (1) ON DUPLICATE KEY UPDATE a=1;",
		"SET sql_mode='NO_BACKSLASH_ESCAPES';INSERT t VALUES ('\\');", "INSERT t VALUES (1,now()),(2);", "DELIMITER $$\nINSERT t VALUES (1)$$"} {
		f.Add([]byte(in), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		if len(data) > 64<<10 {
			t.Skip()
		}
		want, wantErr := scan(bytes.NewReader(data))
		got, err := joined(&oddReader{bytes.NewReader(data), int(size)})
		if d := cmp.Diff(text(wantErr), text(err)); d != "" {
			t.Fatalf("by rows: %s", d)
		}
		for _, all := range [][]scanned{want, got} {
			for i := range all {
				all[i].Text, all[i].EndLine = strings.TrimRight(all[i].Text, " \t\v\f\r\n"), 0
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("by rows: %s", d)
		}
	})
}
