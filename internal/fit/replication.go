package fit

import (
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// ofReplication reports whether a statement is about replication, or about the binary log, and counts it: dumps for replicas have such
// statements, and this server follows nobody.
func (f *Fit) ofReplication(first dump.Token, meant []byte) bool {
	w := dump.NewWalk(meant)
	w.Next()
	second, third := w.Next(), w.Next()
	is := func(tok dump.Token, words ...string) bool { return slices.ContainsFunc(words, tok.Is) }
	switch {
	case first.Is("change") && (is(second, "master") || second.Is("replication") && is(third, "source", "filter")):
	case is(first, "start", "stop", "reset") && (is(second, "slave", "replica", "group_replication") || second.Is("all") && is(third, "slaves", "replicas")):
	case first.Is("reset") && (second.Is("master") || second.Is("binary")):
	case first.Is("purge") && is(second, "binary", "master"):
	case first.Is("flush") && (second.Is("logs") || third.Is("logs")):
	default:
		return false
	}
	f.notes.add(ofServer, strings.ToUpper(first.Name()+" "+second.Name()))
	return true
}
