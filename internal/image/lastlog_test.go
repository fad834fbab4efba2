package image

import (
	"strings"
	"testing"
)

// binlogOf is the beginning of a binary log with the flags of its first event.
func binlogOf(flags byte) string {
	return "\xfebin" + strings.Repeat("\x00", 17) + string([]byte{flags}) + strings.Repeat("\x00", 20)
}

func TestLastLog(t *testing.T) {
	const inUse, closed = 1, 0
	for name, c := range map[string]struct {
		files map[string]string
		last  string
	}{
		"none": {map[string]string{"ibdata1": ""}, ""},
		"killed": {map[string]string{
			"binlog.index": "./binlog.000001\n./binlog.000002\n", "binlog.000001": binlogOf(closed), "binlog.000002": binlogOf(inUse),
		}, "binlog.000002"},
		"shut down":      {map[string]string{"binlog.index": "./binlog.000001\n", "binlog.000001": binlogOf(closed)}, ""},
		"elsewhere":      {map[string]string{"binlog.index": "/var/log/mysql/binlog.000001\n"}, ""},
		"a relay log":    {map[string]string{"x-relay-bin.index": "./x-relay-bin.000001\n", "x-relay-bin.000001": binlogOf(inUse)}, ""},
		"an empty index": {map[string]string{"binlog.index": ""}, ""},
		"encrypted":      {map[string]string{"binlog.index": "./binlog.000001\n", "binlog.000001": "\xfdbin" + binlogOf(inUse)[4:]}, ""},
		"cut short":      {map[string]string{"binlog.index": "./binlog.000001\n", "binlog.000001": "\xfebin"}, ""},
	} {
		base, last, err := lastLog(tree(t, c.files))
		if err != nil || last != c.last || (base == "binlog") != (last != "") {
			t.Errorf("%s: got %q %q, %v", name, base, last, err)
		}
	}
}
