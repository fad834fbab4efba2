package xbstream

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
)

// chunk writes a chunk as the programs do.
func chunk(kind byte, path string, offset uint64, payload string) []byte {
	b := append([]byte(Magic), 0, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(path)))
	b = append(b, path...)
	if kind == 'E' {
		return b
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(payload)))
	b = binary.LittleEndian.AppendUint64(b, offset)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(payload)))
	return append(b, payload...)
}

func sound() []byte {
	return bytes.Join([][]byte{
		chunk('P', "shop/item.ibd", 0, "first "), chunk('P', "ibdata1", 0, "system"), chunk('P', "shop/item.ibd", 6, "second"),
		chunk('E', "ibdata1", 0, ""), chunk('E', "shop/item.ibd", 0, ""),
	}, nil)
}

func read(b []byte) (map[string]string, error) {
	files := map[string]string{}
	err := Read(bytes.NewReader(b), func(c Chunk) error {
		files[c.Path] += string(c.Payload)
		return nil
	})
	return files, err
}

func TestRead(t *testing.T) {
	files, err := read(sound())
	if err != nil {
		t.Fatal(err)
	}
	if files["shop/item.ibd"] != "first second" || files["ibdata1"] != "system" || len(files) != 2 {
		t.Errorf("files %v", files)
	}
}

// TestFaults has every cut and every changed byte be found, or change nothing of what is read.
func TestFaults(t *testing.T) {
	whole := sound()
	for n := range whole {
		if files, err := read(whole[:n]); err == nil {
			t.Errorf("cut at %d: %v", n, files)
		}
		bad := bytes.Clone(whole)
		bad[n] ^= 0x40
		files, err := read(bad)
		if err == nil && (files["shop/item.ibd"] != "first second" || files["ibdata1"] != "system") {
			t.Errorf("byte %d changed: %v", n, files)
		}
	}
	for name, c := range map[string]struct {
		stream []byte
		want   string
	}{
		"path":   {chunk('P', "../etc/passwd", 0, "x"), "leads out"},
		"rooted": {chunk('P', "/etc/passwd", 0, "x"), "leads out"},
		"sparse": {chunk('S', "a.ibd", 0, "x"), "holes"},
		"type":   {chunk('Q', "a.ibd", 0, "x"), "unknown type"},
		"gap":    {append(chunk('P', "a", 5, "x"), chunk('E', "a", 0, "")...), "begins at 5"},
		"empty":  {nil, "empty"},
	} {
		if _, err := read(c.stream); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
