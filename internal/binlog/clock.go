package binlog

// clock is MySQL's logical clock: by it an applier knows which transactions can be applied at once. sequence
// is the transaction's number, and committed that of the last which it depends on.
// https://dev.mysql.com/blog-archive/improving-the-parallel-applier-with-writeset-based-dependency-tracking/
type clock struct{ committed, sequence int64 }

// Where the clock stands in the body of a GTID event, behind flags, source, number and the kind of clock.
const (
	clockKindAt = 1 + 16 + 8
	clockAt     = clockKindAt + 1
	clockKind   = 2
)

// clockOf reads the clock; zero of an event that has none, or a tagged GTID, which is written otherwise.
func clockOf(e *Event) clock {
	if e.Type == TaggedGTIDEvent || len(e.Body) < clockAt+16 || e.Body[clockKindAt] != clockKind {
		return clock{}
	}
	return clock{int64(le.Uint64(e.Body[clockAt:])), int64(le.Uint64(e.Body[clockAt+8:]))}
}

// number gives the transaction whose first event b begins with its new number.
func (m *merger) number(b []byte, was clock) {
	if was == (clock{}) {
		return
	}
	at := headerLen + clockAt
	le.PutUint64(b[at:], uint64(m.after))
	le.PutUint64(b[at+8:], uint64(m.numbers.next))
	m.sum(b)
}

// numbers counts transactions afresh, from 1 on and without gaps: at a gap an applier waits for all that
// is at work.
type numbers struct {
	// next is the number of the transaction that is being made.
	next int64
	// is are the new numbers of those from first on.
	is    []int64
	first int64
}

// add notes that the transaction being made has another with that clock in it, and returns up to which
// others must come before it. What depends on another of the same transaction may depend on any before that:
// a clock says no more than the last. What depends on none that is known depends on the first, since an applier
// takes 0 for a log without a clock, and waits for all.
func (n *numbers) add(c clock) int64 {
	if c == (clock{}) {
		return 0
	}
	if len(n.is) == 0 {
		n.first = c.sequence
	}
	after := int64(0)
	if at := c.committed - n.first; at >= 0 {
		after = n.next - 1 // of what is not known all before it
		if at < int64(len(n.is)) {
			after = n.is[at]
		}
	}
	if c.sequence-n.first != int64(len(n.is)) {
		// They do not follow each other: what comes is to wait for all that was.
		n.first, n.is, after = c.sequence, n.is[:0], n.next-1
	}
	n.is = append(n.is, n.next)
	return min(max(after, 1), n.next-1)
}
