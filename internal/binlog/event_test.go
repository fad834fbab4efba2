package binlog

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFormat(t *testing.T) {
	for _, sum := range []bool{false, true} {
		b := formatBytes("11.8.6-MariaDB-log", 7, sum)
		f, err := ParseFormat(b)
		if err != nil {
			t.Fatal(err)
		}
		if f.Flavour != MariaDB || f.Version != "11.8.6-MariaDB-log" || f.Created != 7 || f.Checksum != sum {
			t.Errorf("parsed %+v", f)
		}
		sent, err := ParseFormat(f.Event())
		if err != nil {
			t.Fatal(err)
		}
		if sent.Checksum || sent.raw[17] != 0 {
			t.Error("what is sent promises checksums, or is in use")
		}
		for i := range b {
			if i == 17 || !sum && i >= len(b)-checksumLen { // the flag; a checksum that is none
				continue
			}
			bad := bytes.Clone(b)
			bad[i] ^= 0xff
			if _, err := ParseFormat(bad); sum && err == nil {
				t.Errorf("byte %d changed: no error", i)
			}
			if _, err := ParseFormat(b[:i]); err == nil {
				t.Errorf("first %d bytes: no error", i)
			}
		}
	}
}

func TestEventChecksum(t *testing.T) {
	f := testFormat(t, true)
	b := event(XIDEvent, 0, []byte("\x2a\x00\x00\x00\x00\x00\x00\x00"), 0, true)
	e, err := ParseEvent(b, f)
	if err != nil {
		t.Fatal(err)
	}
	if string(e.Body) != "\x2a\x00\x00\x00\x00\x00\x00\x00" {
		t.Errorf("body %x", e.Body)
	}
	b[20]++
	var c *CorruptError
	if _, err := ParseEvent(b, f); !errors.As(err, &c) {
		t.Errorf("error %v", err)
	}
	if _, err := ParseEvent(b[:25], f); !errors.As(err, &c) {
		t.Errorf("short: error %v", err)
	}
}

func TestQuery(t *testing.T) {
	head := func(schema, status int) string {
		return "\x09\x00\x00\x00\x01\x00\x00\x00" + string(rune(schema)) + "\x07\x00" + string([]byte{byte(status), 0})
	}
	for _, c := range []struct {
		name, body string
		want       Query
		err        bool
	}{
		{"plain", head(1, 0) + "d\x00BEGIN", Query{Schema: "d", SQL: []byte("BEGIN")}, false},
		{"no schema", head(0, 0) + "\x00x", Query{SQL: []byte("x")}, false},
		{"variables", head(1, 49) + "\x00\x01\x00\x00\x00" + "\x01\x02\x00\x00\x00\x00\x00\x00\x00" + "\x06\x03std" + "\x83\x01\x01\x02\x03\x04" + "\x04\x21\x00\x00\x00\x00\x00" +
			"\x82\x04abcdefgh" + "\x0c\x02\x61\x00\x62\x62\x00" + "d\x00x",
			Query{Schema: "d", SQL: []byte("x"), Flags2: 1, SQLMode: 2, CharsetClient: 33, Alter: AlterEnds, Updated: []string{"a", "bb"}}, false},
		{"too many databases", head(1, 2) + "\x0c\xfed\x00x", Query{Schema: "d", SQL: []byte("x"), Overflow: true}, false},
		{"unknown variable", head(1, 6) + "\x7fabcded\x00x", Query{Schema: "d", SQL: []byte("x"), Partial: true}, false},
		{"short variable", head(1, 2) + "\x01ad\x00x", Query{Schema: "d", SQL: []byte("x"), Partial: true}, false},
		{"schema too long", head(9, 0) + "d\x00", Query{}, true},
		{"no zero", head(1, 0) + "dd", Query{}, true},
		{"status too long", head(1, 200) + "d\x00", Query{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, err := ParseQuery(&Event{Type: QueryEvent, Format: testFormat(t, false), Body: []byte(c.body)})
			if (err != nil) != c.err {
				t.Fatal(err)
			}
			if !c.err {
				c.want.ThreadID, c.want.ErrorCode = 9, 7
			}
			if diff := cmp.Diff(c.want, q); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTransactionEvents(t *testing.T) {
	f := testFormat(t, false)
	x, err := ParseXAPrepare(&Event{Type: XAPrepareEvent, Format: f, Body: []byte("\x01\x02\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00abc")})
	if err != nil || !x.OnePhase || x.XID.String() != "X'61',X'6263',2" {
		t.Errorf("XA_PREPARE: %+v, %s, %v", x, x.XID, err)
	}
	if _, err := ParseXAPrepare(&Event{Type: XAPrepareEvent, Format: f, Body: []byte("\x01\x02\x00\x00\x00\xff\xff\xff\xff\x02\x00\x00\x00abc")}); err == nil {
		t.Error("an xid that is too long: no error")
	}
}
