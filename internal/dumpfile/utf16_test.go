package dumpfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/ramaria-db/ramaria/internal/dump"
)

func utf16Text(order binary.AppendByteOrder, text string) []byte {
	var b []byte
	for _, c := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, c)
	}
	return b
}

func TestUTF16(t *testing.T) {
	text := "INSERT INTO t VALUES ('größer', '日本語', '🙂');\r\n"
	long := strings.Repeat(text, 5000) // characters that two chunks share
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"little endian", utf16Text(binary.LittleEndian, "\ufeff"+long), long},
		{"big endian", utf16Text(binary.BigEndian, "\ufeff"+long), long},
		{"little endian without a mark", utf16Text(binary.LittleEndian, long), long},
		{"big endian without a mark", utf16Text(binary.BigEndian, long), long},
		{"in gzip", gzipped(t, string(utf16Text(binary.LittleEndian, "\ufeff"+long))), long},
		{"odd by a byte of the chunk", utf16Text(binary.LittleEndian, "\ufeff"+"-- "+strings.Repeat("🙂", 20_000)), "-- " + strings.Repeat("🙂", 20_000)},
		{"SET NAMES of UTF-8", utf16Text(binary.LittleEndian, "\ufeff/*!40101 SET NAMES utf8mb4 */;\n"), "/*!40101 SET NAMES utf8mb4 */;\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewReader(iotest.OneByteReader(bytes.NewReader(c.in)), "x.sql")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err != nil || string(got) != c.want {
				t.Errorf("%.80q, %v", got, err)
			}
			if !slices.Equal(r.Notes(), []string{"note: x.sql is UTF-16 text; it is read as UTF-8"}) {
				t.Errorf("says %q", r.Notes())
			}
		})
	}
}

func TestUTF16Faults(t *testing.T) {
	const text = "\ufeffSELECT 'a';\n"
	whole := utf16Text(binary.LittleEndian, text+strings.Repeat("-- 🙂\n", 10_000))
	lone := slices.Clone(whole)
	at := bytes.Index(lone[50_000:], []byte{0x3d, 0xd8}) + 50_000
	lone[at], lone[at+1] = 'x', 0 // its other half stays
	swapped := slices.Clone(whole)
	swapped[at+2], swapped[at+3] = 'x', 0
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"the second half of a character", lone, "half a character (a lone surrogate) stands at byte 50"},
		{"the first half of a character", swapped, "half a character (a lone surrogate) stands at byte 50"},
		{"half a unit", whole[:len(whole)-1], "the file is cut short: its UTF-16 text ends in the middle of a character"},
		{"half a character", whole[:len(whole)-4], "the file is cut short: its UTF-16 text ends in the middle of a character"},
		{"SET NAMES of single bytes", utf16Text(binary.LittleEndian, "\ufeff/*!40101 SET NAMES latin1 */;\n"), "says SET NAMES latin1, and would be read in that character set\nhint: iconv -f UTF-16 -t CP1252 x.sql"},
		{"UTF-32", []byte("\xff\xfe\x00\x00S\x00\x00\x00"), "UTF-32"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewReader(bytes.NewReader(c.in), "x.sql")
			if err == nil {
				var got []byte
				got, err = io.ReadAll(r)
				if strings.Contains(string(got), "\ufffd") {
					t.Error("a character was replaced")
				}
			}
			var fault *dump.Error
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) || fault.Hint == "" {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestNoUTF16 leaves text alone that has NULs elsewhere.
func TestNoUTF16(t *testing.T) {
	for _, text := range []string{"S\x00E\x00L", "SELECT '\x00a\x00b\x00c\x00';\n", "", "\xff\xff\x00\x00aaaaaaaa"} {
		r, err := NewReader(strings.NewReader(text), "x.sql")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != text || len(r.Notes()) > 0 {
			t.Errorf("%q, %v, %q", got, err, r.Notes())
		}
	}
}
