package binlog

// reader takes fields from the front of a byte slice. Its first error stays, and what
// is read after it is zero.
type reader struct {
	b    []byte
	what string
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = corrupt(r.what, format, args...)
	}
	r.b = nil
}

// take returns the next n bytes, nil after an error.
func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.fail("ends %d bytes early", n-len(r.b))
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// uint returns an integer of n bytes, low byte first.
func (r *reader) uint(n int) uint64 {
	var v uint64
	for i, c := range r.take(n) {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// short returns a string behind a length of one byte.
func (r *reader) short() []byte { return r.take(int(r.uint(1))) }

// packed returns a length-encoded integer.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_dt_integers.html
func (r *reader) packed() uint64 {
	switch c := r.uint(1); c {
	case 251, 255:
		r.fail("a length that begins with %d", c)
		return 0
	case 252:
		return r.uint(2)
	case 253:
		return r.uint(3)
	case 254:
		return r.uint(8)
	default:
		return c
	}
}
