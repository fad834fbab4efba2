package template

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
)

// TestRenumber gives pages of several kinds another number, or leaves them as they are.
func TestRenumber(t *testing.T) {
	page := func(flags uint32, change func([]byte)) []byte {
		b := make([]byte, 3*16384)
		binary.BigEndian.PutUint32(b[34:], 8)
		binary.BigEndian.PutUint32(b[38:], 8)
		binary.BigEndian.PutUint32(b[54:], flags)
		if change != nil {
			change(b)
		}
		binary.BigEndian.PutUint32(b[16380:], crc32.Checksum(b[:16380], castagnoli))
		return b
	}
	wrong := page(0x15, nil)
	wrong[1000] = 1
	for _, tc := range []struct {
		name string
		file []byte
		ok   bool
	}{
		{"full_crc32", page(0x15, nil), true},
		{"pages compressed", page(0x15|1<<5, nil), true},
		{"another checksum", page(0x21, nil), false},
		{"no size of pages", page(0x1f, nil), false},
		{"with a key", page(0x15, func(b []byte) { copy(b[10390:], encrypted) }), false},
		{"damaged", wrong, false},
		{"zeros", make([]byte, 65536), false},
		{"short", page(0x15, nil)[:16000], false},
		{"empty", nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "t.ibd")
			if err := os.WriteFile(name, tc.file, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := renumber(f, 77); (err == nil) != tc.ok || err != nil && !errors.Is(err, errTablespace) {
				t.Fatal(err)
			}
			got, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !tc.ok {
				if string(got) != string(tc.file) {
					t.Error("it was changed")
				}
				return
			}
			if a, b := binary.BigEndian.Uint32(got[34:]), binary.BigEndian.Uint32(got[38:]); a != 77 || b != 77 {
				t.Errorf("it has the numbers %d and %d", a, b)
			}
			if crc32.Checksum(got[:16380], castagnoli) != binary.BigEndian.Uint32(got[16380:]) {
				t.Error("the checksum is wrong")
			}
		})
	}
}
