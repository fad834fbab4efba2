package binlog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzScan reads whatever stands behind the format description of a file without checksums, and what Merge makes
// of it.
func FuzzScan(f *testing.F) {
	for _, flavour := range []string{"9.7.4", "10.11.19-MariaDB-log"} {
		l := &logBytes{b: append(bytes.Clone(magic), formatBytes(flavour, 0, false)...)}
		head := len(l.b)
		gtid := strings.Repeat("\x00", clockKindAt) + "\x02" + "\x00\x00\x00\x00\x00\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00" + "1234567"
		maria := "\x05\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x0412345678"
		list := "\x01\x00\x00\x00" + "\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00"
		query := func(sql string) string { return strings.Repeat("\x00", queryPostLen+1) + sql }
		l.add(GTIDListEvent, list)
		for range 2 {
			l.add(AnonymousGTIDEvent, gtid).add(QueryEvent, query("BEGIN")).add(WriteRowsV2, "\x01\x00\x00\x00\x00\x00\x11\x00row").add(XIDEvent, "12345678")
			l.add(MariaGTIDEvent, maria).add(UpdateRowsV1, "\x01\x00\x00\x00\x00\x00\x01\x00row").add(XIDEvent, "12345678")
		}
		l.add(AnonymousGTIDEvent, gtid).add(QueryEvent, query("CREATE")).add(RotateEvent, rotate("log.000002"))
		f.Add(flavour == "9.7.4", l.b[head:])
	}
	heads := map[bool][]byte{true: formatBytes("9.7.4", 0, false), false: formatBytes("10.11.19-MariaDB-log", 0, false)}
	path := filepath.Join(f.TempDir(), "log.000001")
	// Not os.WriteFile: after emptying a file, closing it waits for the disk (ext4(5), auto_da_alloc).
	file, err := os.Create(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { file.Close() })
	f.Fuzz(func(t *testing.T, mysql bool, b []byte) {
		whole := append(append(bytes.Clone(magic), heads[mysql]...), b...)
		if _, err := file.WriteAt(whole, 0); err != nil {
			t.Fatal(err)
		}
		if err := file.Truncate(int64(len(whole))); err != nil {
			t.Fatal(err)
		}
		groups := int64(0)
		ext, err := Scan(path, 4, func(g Group) error {
			if g.End <= g.Start || g.plain && (g.rows < g.Start || g.xid < g.rows || g.End <= g.xid) {
				t.Fatalf("group %+v", g)
			}
			groups++
			return nil
		})
		var other *NotUnderstoodError
		if err != nil && !errors.As(err, &other) {
			onlyKnown(t, err)
		}
		if ext.End > ext.Size || ext.Groups != groups || err == nil && (ext.Torn == nil) != (ext.End == ext.Size) {
			t.Fatalf("%+v, %v", ext, err)
		}
		var out bytes.Buffer
		m, mergeErr := Merge(&out, path, 0, 0, nil, false, func(*Query) error { return nil }, nil)
		if err == nil && mergeErr == nil && (m.Groups != groups || m.Written != int64(out.Len())) {
			t.Fatalf("%d groups, merged %+v", groups, m)
		}
	})
}
