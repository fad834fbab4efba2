package cluster

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// mostState is how much of the file is read, in bytes.
const mostState = 4096

// stateFile is Galera's file of where the data of a member is in the cluster's sequence.
const stateFile = "grastate.dat"

var (
	recovered = regexp.MustCompile(`Recovered position: ([0-9a-f-]{36}):(-?\d+)`)
	stateLine = regexp.MustCompile(`(?m)^(uuid|seqno):\s*(\S+)`)
)

// Position is where the data of a member of Galera is: the UUID of the history, and the number of the last write set.
type Position struct {
	History string
	Number  string
}

// Known reports whether the position is one.
func (p Position) Known() bool { return p.History != "" && p.History != noHistory && p.Number != "-1" }

const noHistory = "00000000-0000-0000-0000-000000000000"

// ParseRecovered reads what a server says that was started with --wsrep-recover.
func ParseRecovered(log string) (Position, error) {
	all := recovered.FindAllStringSubmatch(log, -1)
	if len(all) == 0 {
		return Position{}, fmt.Errorf("the server did not say where its data is in the cluster's sequence\n%s", log[max(0, len(log)-mostState):])
	}
	last := all[len(all)-1]
	return Position{History: last[1], Number: last[2]}, nil
}

// ReadState returns what grastate.dat says; a member that runs or was killed has no number there.
func ReadState(dataDir string) Position {
	f, err := sys.OpenIn(dataDir, stateFile) // the server may write there
	if err != nil {
		return Position{}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostState))
	if err != nil {
		return Position{}
	}
	var p Position
	for _, m := range stateLine.FindAllStringSubmatch(string(text), -1) {
		if m[1] == "uuid" {
			p.History = m[2]
		} else {
			p.Number = m[2]
		}
	}
	return p
}

// HistoryFiles are the files in a data directory by which Galera goes on with a history.
var HistoryFiles = []string{stateFile, "galera.cache", "gvwstate.dat"}

// WriteState writes grastate.dat, by which a member joins with what it has.
func WriteState(dataDir string, p Position, account server.Account) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# GALERA saved state\nversion: 2.1\nuuid:    %s\nseqno:   %s\nsafe_to_bootstrap: 0\n", p.History, p.Number)
	return server.WritePrivate(filepath.Join(dataDir, stateFile), []byte(b.String()), account)
}
