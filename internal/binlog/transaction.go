package binlog

import "strconv"

// GTID begins a transaction, or stands before a statement that is one by itself.
type GTID struct {
	// Standalone, DDL, PreparedXA and CompletedXA are said by MariaDB only. Standalone:
	// one statement follows, and neither COMMIT nor XID ends it. PreparedXA: what follows
	// ends in XA PREPARE; CompletedXA: a single XA COMMIT or XA ROLLBACK follows.
	Standalone, DDL, PreparedXA, CompletedXA bool
	// Domain and Sequence are MariaDB's.
	Domain   uint32
	Sequence uint64
	// XID is set with PreparedXA and CompletedXA.
	XID XID
	// Anonymous and Tagged tell MySQL's three kinds apart. UUID and Number are not read
	// from tagged ones.
	Anonymous, Tagged bool
	UUID              [16]byte
	Number            uint64
}

// Flags of a MariaDB GTID, Gtid_log_event::FL_*.
const (
	gtidStandalone  = 1
	gtidGroupCommit = 2
	gtidDDL         = 32
	gtidPreparedXA  = 64
	gtidCompletedXA = 128
)

// ParseGTID parses a GTID event of any of the four kinds.
func ParseGTID(e *Event) (GTID, error) {
	r := reader{b: e.Body, what: "GTID event"}
	var g GTID
	switch e.Type {
	case TaggedGTIDEvent:
		g.Tagged = true
	case GTIDEvent, AnonymousGTIDEvent:
		r.take(1) // flags
		g.Anonymous = e.Type == AnonymousGTIDEvent
		copy(g.UUID[:], r.take(16))
		g.Number = r.uint(8)
	case MariaGTIDEvent:
		g.readMaria(&r)
	default:
		r.fail("it is a %s event", e.Type)
	}
	if r.err != nil {
		return GTID{}, located(r.err, e.Pos())
	}
	return g, nil
}

func (g *GTID) readMaria(r *reader) {
	g.Sequence, g.Domain = r.uint(8), uint32(r.uint(4))
	flags := r.uint(1)
	g.Standalone, g.DDL = flags&gtidStandalone != 0, flags&gtidDDL != 0
	g.PreparedXA, g.CompletedXA = flags&gtidPreparedXA != 0, flags&gtidCompletedXA != 0
	if flags&gtidGroupCommit != 0 {
		r.take(8)
	}
	if g.PreparedXA || g.CompletedXA {
		format, global, branch := r.uint(4), int(r.uint(1)), int(r.uint(1))
		g.XID = readXID(r, format, global, branch)
	}
}

// XID is the name of an XA transaction.
type XID struct {
	Format         uint32
	Global, Branch string
}

// mostXID is the length of each part, MAXGTRIDSIZE and MAXBQUALSIZE.
const mostXID = 64

// String returns the name as the XA statements take it: X'61',X”,1.
func (x XID) String() string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, 2*len(x.Global)+2*len(x.Branch)+20)
	for _, part := range []string{x.Global, x.Branch} {
		b = append(b, "X'"...)
		for i := range len(part) {
			b = append(b, digits[part[i]>>4], digits[part[i]&15])
		}
		b = append(b, "',"...)
	}
	return string(strconv.AppendUint(b, uint64(x.Format), 10))
}

func readXID(r *reader, format uint64, global, branch int) XID {
	if global > mostXID || branch > mostXID {
		r.fail("an xid of %d and %d bytes", global, branch)
	}
	return XID{uint32(format), string(r.take(global)), string(r.take(branch))}
}

// XAPrepare ends what a transaction did that is to be committed or rolled back later.
type XAPrepare struct {
	XID XID
	// OnePhase says that it is committed already (XA COMMIT ... ONE PHASE).
	OnePhase bool
}

// ParseXAPrepare parses an XA_PREPARE event.
func ParseXAPrepare(e *Event) (XAPrepare, error) {
	r := reader{b: e.Body, what: "XA_PREPARE event"}
	x := XAPrepare{OnePhase: r.uint(1) != 0}
	format, global, branch := r.uint(4), int(r.uint(4)), int(r.uint(4))
	x.XID = readXID(&r, format, global, branch)
	if r.err != nil {
		return XAPrepare{}, located(r.err, e.Pos())
	}
	return x, nil
}

// ParseXID parses an XID event, the commit of a transaction, and returns the server's
// number of it.
func ParseXID(e *Event) (uint64, error) {
	r := reader{b: e.Body, what: "XID event"}
	r.take(e.Format.postHeader(XIDEvent, 0))
	n := r.uint(8)
	return n, located(r.err, e.Pos())
}
