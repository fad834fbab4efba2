package dbconn_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// TestHolderLines: whatever is in the name of an account or a role, a list has who it is, and whether it is shut; so have lists
// of before.
func TestHolderLines(t *testing.T) {
	want := []dbconn.Holder{
		{User: "root", Host: "localhost", How: "SUPER", Shut: true},
		{User: "who is x", Host: "%", How: "SUPER, role a is b@%"},
		{User: `"q" is `, Host: "h", How: "role r, but shut"},
		{User: "captain@x", Host: "", How: "a role", Shut: true},
		{User: "é\n", Host: "%", How: "shut: role open: "},
	}
	list := []string{"plugin x is y"}
	for _, h := range want {
		list = append(list, dbconn.HolderLine(h))
	}
	if diff := cmp.Diff(want, dbconn.Holders(list)); diff != "" {
		t.Error(diff)
	}
	if names := dbconn.ChangedBesideLog(list, list[:1]); names != nil {
		t.Errorf("accounts count as changed: %q", names)
	}
	before := []string{"account root@localhost is SUPER, but shut", "account captain@ is a role, but shut", "account app@% is role mate@%"}
	if diff := cmp.Diff([]dbconn.Holder{{User: "root", Host: "localhost", How: "SUPER", Shut: true}, {User: "captain", How: "a role", Shut: true}, {User: "app", Host: "%", How: "role mate@%"}}, dbconn.Holders(before)); diff != "" {
		t.Errorf("of before: %s", diff)
	}
}

// TestOpened: who had one of the rights before is none that has opened, whichever right it is, and whatever was taken away.
func TestOpened(t *testing.T) {
	known := []dbconn.Holder{{User: "a", Host: "%", How: "BINLOG ADMIN, SUPER"}, {User: "b", Host: "%", How: "SUPER", Shut: true}}
	for _, c := range []struct {
		now  dbconn.Holder
		want bool
	}{
		{dbconn.Holder{User: "a", Host: "%", How: "BINLOG ADMIN, SUPER"}, false},
		{dbconn.Holder{User: "a", Host: "%", How: "SUPER"}, false},
		{dbconn.Holder{User: "a", Host: "%", How: "SUPER, role r"}, false},
		{dbconn.Holder{User: "a", Host: "h", How: "SUPER"}, true},
		{dbconn.Holder{User: "b", Host: "%", How: "SUPER"}, true},
		{dbconn.Holder{User: "b", Host: "%", How: "SUPER", Shut: true}, false},
		{dbconn.Holder{User: "c", Host: "%", How: "SUPER"}, true},
		{dbconn.Holder{User: "c", Host: "%", How: "SUPER", Shut: true}, false},
	} {
		if got := c.now.Opened(known); got != c.want {
			t.Errorf("%+v: %t", c.now, got)
		}
	}
}
