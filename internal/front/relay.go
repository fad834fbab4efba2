package front

import (
	"bytes"
	"context"
	"io"
)

// buffered is how much is read at a time, in bytes: results are many times that, questions a small part.
const buffered = 16 << 10

// relay passes bytes on until one side ends.
func (s *session) relay(ctx context.Context) {
	q := &questions{session: s, buf: make([]byte, buffered)}
	for again := true; again; {
		answers := make(chan struct{})
		changes := make(chan struct{})
		server := s.server
		go func() {
			defer close(answers)
			_, _ = io.CopyBuffer(onlyWriter{s.client}, onlyReader{server}, make([]byte, buffered))
			select {
			case <-changes: // the client stays, and gets another server
			default:
				_ = s.raw.Close()
			}
		}()
		again = q.pass(ctx, changes)
		if !again {
			_ = server.Close()
			_ = s.raw.Close()
		}
		<-answers
		if again {
			again = s.change(ctx, q.change) == nil
		}
	}
}

// onlyWriter and onlyReader keep io.CopyBuffer from asking for splice: a pipe costs a small answer more than the
// copy does.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)

// questions passes on what a client sends, packet by packet, and does what is for the door.
type questions struct {
	*session
	buf        []byte
	start, end int // what is read and not passed on
	// left is what is still to come of a packet of which the beginning was passed on.
	left int
	// more says that the next packet goes on with the last: that was as long as one can be, or one of the file
	// that LOAD DATA LOCAL sends, of which the count has come round.
	more   bool
	change []byte // the packet by which the client logs in again
}

// mostCommand bounds the commands that the door reads whole, in bytes.
const mostCommand = 4 << 10

// full is the length of a packet that goes on in the next.
const full = 1<<24 - 1

// pass passes packets on until one side ends, or until the client wants to log in again: it then closes changes
// and returns true.
func (q *questions) pass(ctx context.Context, changes chan<- struct{}) bool {
	for {
		n, err := q.client.Read(q.buf[q.end:])
		if err != nil {
			return false
		}
		q.end += n
		out := q.start // up to where may be passed on
		for out < q.end {
			if q.left > 0 {
				n := min(q.left, q.end-out)
				out, q.left = out+n, q.left-n
				continue
			}
			if q.end-out < header {
				break
			}
			length, seq := lengthOf(q.buf[out:]), q.buf[out+3]
			whole := header + length
			if seq == 0 && !q.more && length > 0 {
				if q.end-out == header {
					break
				}
				if c := q.buf[out+header]; interesting[c] && (length <= mostCommand || c == isChange) {
					if q.end-out < min(whole, header+glance) {
						break // the rest of its beginning is on its way
					}
					if forDoor(c, q.buf[out+header:min(q.end, out+whole)]) {
						if whole > q.end-out {
							if !q.room(&out, whole) {
								return false
							}
							break
						}
						if err := q.flush(out); err != nil {
							return false
						}
						payload := q.buf[out+header : out+whole]
						q.start = out + whole
						out = q.start
						if c == isChange {
							q.change = bytes.Clone(payload)
							close(changes)
							_ = q.server.Close()
							return true
						}
						if _, err := q.server.Write(packet(0, q.command(ctx, payload))); err != nil {
							return false
						}
						continue
					}
				}
			}
			q.more = length == full || (seq == 0xff && length > 0)
			q.left = whole
		}
		if err := q.flush(out); err != nil {
			return false
		}
		q.room(&out, header+mostCommand)
	}
}

// flush passes on what is before out.
func (q *questions) flush(out int) error {
	if out == q.start {
		return nil
	}
	_, err := q.server.Write(q.buf[q.start:out])
	q.start = out
	return err
}

// room makes place for so many bytes from out on, and reports whether there may be so many.
func (q *questions) room(out *int, n int) bool {
	if n > header+mostLogin {
		return false
	}
	if q.flush(*out) != nil {
		return false
	}
	switch {
	case q.start == q.end:
		q.start, q.end = 0, 0
	case len(q.buf)-q.start < n:
		buf := q.buf
		if len(buf) < n {
			buf = make([]byte, n)
		}
		q.end = copy(buf, q.buf[q.start:q.end])
		q.start, q.buf = 0, buf
	}
	*out = q.start
	return true
}
