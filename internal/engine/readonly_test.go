package engine

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestExplainNoRoom: a load that a full volume has stopped says so, though logs were purged since
// and the volume has room again; one that failed for another reason keeps its error.
func TestExplainNoRoom(t *testing.T) {
	dir := t.TempDir()
	e := &Engine{Host: host.Host{Root: "/"}, Places: host.Places{State: filepath.Join(dir, "state"), Disk: filepath.Join(dir, "disk")}}
	v, err := e.Opener().Open(t.Context(), volume.Spec{Kind: volume.Disk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	i := &instance.Instance{Record: instance.Record{Name: "main", Dir: filepath.Join(v.Dir(), "instances", "main"), Volume: "disk"}}
	for _, tc := range []struct {
		name    string
		number  uint16
		message string
		full    bool
	}{
		{"MariaDB", 1290, "The MariaDB server is running with the --read-only option so it cannot execute this statement", true},
		{"MySQL", 1290, "The MySQL server is running with the --super-read-only option so it cannot execute this statement", true},
		{"MySQL in German", 1290, "Der MySQL-Server läuft mit der Option --read-only und kann diese Anweisung deswegen nicht ausführen", true},
		{"an option of files", 1290, "The MySQL server is running with the --secure-file-priv option so it cannot execute this statement", false},
		{"interrupted, much room", 1317, "Query execution was interrupted", false},
		{"a fault of the dump", 1064, "You have an error in your SQL syntax", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cause := &mysql.MySQLError{Number: tc.number, Message: tc.message}
			got := e.ExplainNoRoom(t.Context(), i, "the rest of big.sql", cause)
			var full *volume.NoRoomError
			if errors.As(got, &full) != tc.full {
				t.Fatalf("got %v", got)
			}
			if tc.full && (full.Need <= full.Free || full.What != "the rest of big.sql") {
				t.Errorf("it says %v", got)
			}
		})
	}
}
