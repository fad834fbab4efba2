package front

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// header is the length of what stands before the payload of a packet: three bytes of length and one that counts.
const header = 4

// mostLogin bounds the packets that are read whole, in bytes: those of a login, and commands of the door.
const mostLogin = 64 << 10

// errPacket says that a peer sent what is no packet of its turn.
var errPacket = errors.New("malformed packet")

// firstRead is what is made ready for a packet at first, in bytes: logins are shorter, mostly.
const firstRead = 256

// readPacket reads one packet whole. grown is told how many bytes it takes, before it takes more than firstRead.
func readPacket(r io.Reader, grown func(bytes int)) (payload []byte, seq byte, err error) {
	var h [header]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return nil, 0, err
	}
	n := lengthOf(h[:])
	if n > mostLogin {
		return nil, 0, fmt.Errorf("%w: %d bytes", errPacket, n)
	}
	// As much as has come, and not as much as was announced: who is not known could announce much.
	for payload = make([]byte, 0, min(n, firstRead)); len(payload) < n; {
		if len(payload) == cap(payload) {
			size := min(n, 2*cap(payload))
			grown(size)
			payload = slices.Grow(payload, size-len(payload))
		}
		read, err := r.Read(payload[len(payload):min(n, cap(payload))])
		payload = payload[:len(payload)+read]
		if err != nil && len(payload) < n {
			return nil, 0, err
		}
	}
	return payload, h[3], nil
}

func lengthOf(h []byte) int { return int(h[0]) | int(h[1])<<8 | int(h[2])<<16 }

// packet puts a header before a payload.
func packet(seq byte, payload []byte) []byte {
	n := len(payload)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), seq}, payload...)
}

// A fields reads a payload field by field. One that is not there makes all after it zero, and bad true.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) take(n int) []byte {
	if n < 0 || n > len(f.b) {
		f.b, f.bad = nil, true
		return nil
	}
	b := f.b[:n]
	f.b = f.b[n:]
	return b
}

func (f *fields) uint(n int) (v uint64) {
	for i, c := range f.take(n) {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// text is a string that ends with a zero byte, or with the payload.
func (f *fields) text() string {
	for i, c := range f.b {
		if c == 0 {
			s := string(f.b[:i])
			f.b = f.b[i+1:]
			return s
		}
	}
	s := string(f.b)
	f.b = nil
	return s
}

// counted is a string after its length, which takes one byte, or as many as its first says.
func (f *fields) counted() []byte { return f.take(int(f.length())) }

func (f *fields) length() uint64 {
	switch n := f.uint(1); n {
	case 0xfc:
		return f.uint(2)
	case 0xfd:
		return f.uint(3)
	case 0xfe:
		return f.uint(8)
	case 0xfb, 0xff:
		f.bad = true
		return 0
	default:
		return n
	}
}

// appendCounted is the writing of fields.counted.
func appendCounted(b, s []byte) []byte {
	switch n := len(s); {
	case n < 0xfb:
		b = append(b, byte(n))
	case n <= 0xffff:
		b = binary.LittleEndian.AppendUint16(append(b, 0xfc), uint16(n))
	default:
		b = append(b, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
	return append(b, s...)
}

// Bytes that a payload begins with.
const (
	isOK   = 0x00
	isMore = 0x01 // more data of a login
	isSwap = 0xfe // another way to log in
	isErr  = 0xff
)

// A RefusalError is an error as clients of MySQL know it.
type RefusalError struct {
	Code  uint16
	State string // five characters
	Text  string
}

func (r *RefusalError) Error() string { return r.Text }

func refuse(code uint16, state, format string, args ...any) *RefusalError {
	return &RefusalError{code, state, fmt.Sprintf(format, args...)}
}

// The errors of the server that the door uses, with their states.
// https://mariadb.com/docs/server/reference/error-codes/mariadb-error-code-reference
const (
	erAccessDenied  = 1045
	erBadDB         = 1049
	erTooMany       = 1040
	erHandshake     = 1043
	erUnknown       = 1105
	erInterrupted   = 1317
	erInXA          = 1399
	stateDenied     = "28000"
	stateGone       = "08004"
	stateHandshake  = "08S01"
	stateGeneral    = "HY000"
	stateNoDatabase = "42000"
)

func (r *RefusalError) payload() []byte {
	b := binary.LittleEndian.AppendUint16([]byte{isErr}, r.Code)
	b = append(b, '#')
	b = append(b, r.State...)
	return append(b, r.Text...)
}

// refusalOf is what an error packet says.
func refusalOf(payload []byte) *RefusalError {
	f := fields{b: payload}
	f.take(1)
	r := &RefusalError{Code: uint16(f.uint(2)), State: stateGeneral}
	switch {
	case len(f.b) > 5 && f.b[0] == '#':
		r.State = string(f.take(6)[1:])
	case r.Code == erTooMany: // in place of a greeting, where a server says no state
		r.State = stateGone
	}
	r.Text = string(f.b)
	return r
}
