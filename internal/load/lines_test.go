package load

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLineEnds(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		"a\r\nb":                               "a\nb",
		"\r\n\r\n":                             "\n\n",
		"a\r\r\nb\rc\r":                        "a\r\nb\rc\r",
		"\n\r\r":                               "\n\r\r",
		strings.Repeat("x\r\n", 50000):         strings.Repeat("x\n", 50000),
		strings.Repeat("x", 64<<10-1) + "\r\n": strings.Repeat("x", 64<<10-1) + "\n",
	} {
		for name, r := range map[string]io.Reader{
			"at once": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in)), "with the end": iotest.DataErrReader(strings.NewReader(in)),
			"into little": nil,
		} {
			var got []byte
			var err error
			if r == nil {
				got, err = io.ReadAll(iotest.OneByteReader(newLineEnds(strings.NewReader(in))))
			} else {
				got, err = io.ReadAll(newLineEnds(r))
			}
			if err != nil || !bytes.Equal(got, []byte(want)) {
				t.Errorf("%s, %.40q: %.40q, %v", name, in, got, err)
			}
		}
	}
	if _, err := io.ReadAll(newLineEnds(iotest.ErrReader(io.ErrUnexpectedEOF))); err == nil {
		t.Error("an error was passed over")
	}
}

// crlf is a dump whose lines end in CR LF.
const crlf = "CREATE TABLE t (id INT PRIMARY KEY, v TEXT);\r\nINSERT INTO t VALUES (1,\"a\r\nb\"), (2, 'c\\r\\nd');\r\nINSERT INTO t SELECT 3,\"a\r\nb\";\r\n" +
	"INSERT INTO t SET id=4, v='x\r\r\n\ry';\r\nCREATE VIEW v AS SELECT \"a\r\nb\" AS x;\r\n" +
	"DELIMITER ;;\r\nCREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW BEGIN\r\n SET NEW.v = 'p\r\nq';\r\nEND;;\r\nDELIMITER ;\r\nINSERT INTO t VALUES (5, '');\r\n"

// TestLinesEqualClient loads such a dump as the client does without --binary-mode.
func TestLinesEqualClient(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		s.clear(t)
		if _, said, err := s.client(t, s.Client, []byte(crlf), "--default-character-set=utf8mb4", database); err != nil {
			t.Fatal(err, said)
		}
		want := s.content(t)
		s.clear(t)
		if err := s.load(t.Context(), strings.NewReader(crlf)); err != nil {
			t.Fatal(err)
		}
		if got := s.content(t); got != want {
			t.Errorf("loaded:\n%q\nwant:\n%q", got, want)
		}
		if !strings.Contains(want, `c\r\nd`) || strings.Contains(want, `a\r\nb`) {
			t.Errorf("the client loads another thing than it is known to: %q", want)
		}
	})
}
