package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

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
		return Position{}, fmt.Errorf("the server did not say where its data is in the cluster's sequence\n%s", log)
	}
	last := all[len(all)-1]
	return Position{History: last[1], Number: last[2]}, nil
}

// ReadState returns what grastate.dat says; a member that runs or was killed has no number there.
func ReadState(dataDir string) Position {
	text, err := os.ReadFile(filepath.Join(dataDir, stateFile))
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

// WriteState writes grastate.dat; begins lets the member begin the cluster with what it has.
func WriteState(dataDir string, p Position, begins bool, account server.Account) error {
	safe := 0
	if begins {
		safe = 1
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# GALERA saved state\nversion: 2.1\nuuid:    %s\nseqno:   %s\nsafe_to_bootstrap: %d\n", p.History, p.Number, safe)
	return server.WritePrivate(filepath.Join(dataDir, stateFile), []byte(b.String()), account)
}
