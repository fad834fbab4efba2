package binlog

import "strconv"

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
