package binlog

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// GTID is one of MariaDB's.
type GTID struct {
	Domain, Server uint32
	Sequence       uint64
}

// String returns "0-1-42".
func (g GTID) String() string {
	b := make([]byte, 0, 32)
	b = append(strconv.AppendUint(b, uint64(g.Domain), 10), '-')
	b = append(strconv.AppendUint(b, uint64(g.Server), 10), '-')
	return string(strconv.AppendUint(b, g.Sequence, 10))
}

// GTIDs are the last of each domain and server, that which is the last of its domain behind the
// others: what gtid_binlog_state is. https://mariadb.com/kb/en/gtid/#gtid_binlog_state
type GTIDs []GTID

// Most is the highest sequence number in a domain, 0 for none.
func (l GTIDs) Most(domain uint32) (most uint64) {
	for _, g := range l {
		if g.Domain == domain {
			most = max(most, g.Sequence)
		}
	}
	return most
}

// String returns them as gtid_binlog_state takes them: "0-1-42,0-2-43".
func (l GTIDs) String() string {
	var b []byte
	for i, g := range l {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, g.String()...)
	}
	return string(b)
}

// ParseGTIDs reads what String returns.
func ParseGTIDs(text string) (l GTIDs, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		numbers := strings.Split(part, "-")
		if len(numbers) != 3 {
			return nil, fmt.Errorf("parse GTIDs %q: %q is none", text, part)
		}
		domain, derr := strconv.ParseUint(numbers[0], 10, 32)
		server, serr := strconv.ParseUint(numbers[1], 10, 32)
		sequence, err := strconv.ParseUint(numbers[2], 10, 64)
		if err := errors.Join(derr, serr, err); err != nil {
			return nil, fmt.Errorf("parse GTIDs %q: %w", text, err)
		}
		l = append(l, GTID{uint32(domain), uint32(server), sequence}) // #nosec G115 -- of 32 bits, as parsed
	}
	return l, nil
}

// Add notes that a transaction follows. The zero GTID is none.
func (l *GTIDs) Add(g GTID) {
	if g == (GTID{}) {
		return
	}
	for i := len(*l) - 1; i >= 0; i-- {
		switch is := &(*l)[i]; {
		case is.Domain != g.Domain:
		case is.Server == g.Server:
			if is.Sequence = g.Sequence; !(*l)[i+1:].has(g.Domain) {
				return
			}
			*l = slices.Delete(*l, i, i+1)
		}
	}
	*l = append(*l, g)
}

func (l GTIDs) has(domain uint32) bool {
	return slices.ContainsFunc(l, func(g GTID) bool { return g.Domain == domain })
}

// list takes what a file says at its beginning. A server without a history says nothing.
// https://mariadb.com/kb/en/gtid_list_event/
func (l *GTIDs) list(e *Event) error {
	r := reader{b: e.Body, what: "GTID_LIST event"}
	const mostCount, width = 1<<28 - 1, 4 + 4 + 8
	n := int(r.uint(4) & mostCount)
	if n > len(r.b)/width {
		r.fail("%d GTIDs in %d bytes", n, len(r.b))
		return located(r.err, e.Pos())
	}
	var list GTIDs
	for range n {
		list = append(list, GTID{uint32(r.uint(4)), uint32(r.uint(4)), r.uint(8)})
	}
	*l = list
	return nil
}

// parseMariaGTID reads number and flags of a GTID event.
// https://mariadb.com/kb/en/gtid_event/
func parseMariaGTID(e *Event) (GTID, byte, error) {
	r := reader{b: e.Body, what: "GTID event"}
	g := GTID{Server: e.ServerID, Sequence: r.uint(8), Domain: uint32(r.uint(4))}
	flags := byte(r.uint(1))
	if r.err != nil {
		return GTID{}, 0, located(r.err, e.Pos())
	}
	return g, flags, nil
}
