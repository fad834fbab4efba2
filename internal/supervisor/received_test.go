package supervisor

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// TestPending: what was not applied is found where the applier of another domain has gone ahead. A promotion would lose it.
func TestPending(t *testing.T) {
	for _, c := range []struct {
		name, applied string
		received      []string
		begins        int64 // of the first that was not applied, which has its number there; 0 for none
		gtids         string
	}{
		{"nothing", "0-1-2", []string{"0-1-1", "0-1-2"}, 0, ""},
		{"the last", "0-1-1", []string{"0-1-1", "0-1-2", "0-1-3"}, 2, "0-1-3"},
		{"all", "0-1-1", []string{"0-1-2", "0-1-3"}, 1, "0-1-3"},
		{"of another server", "0-2-5", []string{"0-1-9", "0-2-5", "0-2-6"}, 3, "0-2-6"},
		{"another domain went ahead", "0-1-1,5-1-7", []string{"0-1-1", "0-1-2", "0-1-3", "5-1-7"}, 2, "0-1-3"},
		{"both have some", "0-1-1,5-1-6", []string{"5-1-5", "0-1-2", "5-1-6", "5-1-7"}, 2, "0-1-2,5-1-7"},
		{"it is behind", "0-1-2,5-1-6", []string{"5-1-7", "0-1-1", "0-1-2"}, 1, "5-1-7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			applied, err := binlog.ParseGTIDs(c.applied)
			if err != nil {
				t.Fatal(err)
			}
			p := pending{applied: applied}
			for i, text := range c.received {
				g, err := binlog.ParseGTIDs(text)
				if err != nil {
					t.Fatal(err)
				}
				n := int64(i) + 1
				p.take(binlog.Group{GTID: g[0], File: "relay.000001", Start: n, End: n + 1}, "relay.000001")
			}
			r := p.received()
			if r == nil {
				if c.begins != 0 {
					t.Error("nothing was found")
				}
				return
			}
			if r.begins.Offset != c.begins || r.gtids.String() != c.gtids || r.appliedIn(dbconn.ReplicaState{AppliedGTIDs: c.applied}) {
				t.Errorf("%+v", r)
			}
		})
	}
}
