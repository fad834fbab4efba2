package dump

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// span is where a statement lies in a dump: its first byte, and its delimiter.
type span struct{ from, to int }

// reference is a slow splitter written after the text of the client's add_line:
// line by line, byte by byte, with a flag for each of the client's variables. It
// knows nothing of sql_mode. bad says that the client would complain.
func reference(data []byte) (spans []span, bad bool) {
	delim := ";"
	var inString byte
	var mlComment bool
	from := -1 // where the client's buffer began; -1 when it is empty
	base := 0
	for len(data) > base {
		line := data[base:]
		next := len(data)
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line, next = line[:n], base+n+1
		}
		char := func(i int) byte {
			if i < len(line) {
				return line[i]
			}
			return 0
		}
		if from < 0 && !mlComment && inString == 0 {
			word := strings.TrimLeft(string(line), " \t\v\f\r")
			if len(word) >= 9 && strings.EqualFold(word[:9], "delimiter") {
				fields := strings.FieldsFunc(word, func(r rune) bool { return r < 0x80 && isSpace(byte(r)) })
				if len(fields) < 2 {
					return spans, true
				}
				delim = fields[1]
				if strings.ContainsAny(delim[:1], "'\"`") {
					// The quote of the argument: the client passes over all up to the first space.
					quoted := strings.SplitN(word[strings.IndexAny(word, " \t\v\f\r"):], delim[:1], 3)
					if len(quoted) < 3 || quoted[1] == "" {
						return spans, true
					}
					delim = quoted[1]
				}
				base = next
				continue
			}
		}
		ssComment := false
	chars:
		for pos := 0; pos < len(line); pos++ {
			c := line[pos]
			add := func() {
				if from < 0 {
					from = base + pos
				}
			}
			switch {
			case isSpace(c) && from < 0:
			case !mlComment && c == '\\' && inString != '`':
				if inString == 0 && char(pos+1) != 'N' {
					return spans, true
				}
				add()
				pos++
			case !mlComment && inString == 0 && bytes.HasPrefix(line[pos:], []byte(delim)):
				if from >= 0 {
					spans = append(spans, span{from, base + pos})
				}
				from = -1
				pos += len(delim) - 1
			case !mlComment && inString == 0 && (c == '#' || c == '-' && char(pos+1) == '-' &&
				(pos+2 >= len(line) || isSpace(char(pos+2)) || from < 0)):
				break chars
			case inString == 0 && c == '/' && char(pos+1) == '*' &&
				char(pos+2) != '!' && (char(pos+2) != 'M' || char(pos+3) != '!'):
				pos++
				mlComment = true
			case mlComment && !ssComment && c == '*' && char(pos+1) == '/':
				pos++
				mlComment = false
			default:
				if inString == 0 && c == '/' && char(pos+1) == '*' && char(pos+2) == '!' {
					ssComment = true
				} else if inString == 0 && ssComment && c == '*' && char(pos+1) == '/' {
					ssComment = false
				}
				if !mlComment {
					add()
					switch {
					case c == 0 && inString == 0:
						return spans, true
					case c == inString:
						inString = 0
					case inString == 0 && (c == '\'' || c == '"' || c == '`'):
						inString = c
					}
				}
			}
		}
		base = next
	}
	if from >= 0 && len(bytes.Trim(data[from:], "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f \x7f")) > 0 {
		spans = append(spans, span{from, len(data)})
	}
	return spans, bad || inString != 0 || mlComment
}

// TestSamplesByReference compares the statements of the sample dumps with the reference.
func TestSamplesByReference(t *testing.T) {
	const dir = "../../tests/testdata/samples"
	paths, err := filepath.Glob(dir + "/*.sql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sample dumps in %s: %v", dir, err)
	}
	for _, p := range paths {
		t.Run(filepath.Base(p), func(t *testing.T) {
			text, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Check(io.Discard, bytes.NewReader(text), Options{File: p})
			if err != nil {
				t.Fatal(err)
			}
			if spans, bad := reference(text); bad || int64(len(spans)) != s.Statements {
				t.Errorf("%d statements, the reference has %d", s.Statements, len(spans))
			}
		})
	}
}
