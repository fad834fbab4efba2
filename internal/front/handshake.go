package front

import (
	"encoding/binary"
	"fmt"
)

// Capabilities that the door knows of; all others are between client and server.
// https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__capabilities__flags.html
const (
	canMySQL       = 1 << 0 // a server of MariaDB that leaves it out has more of them, of its own
	canDatabase    = 1 << 3
	canCompress    = 1 << 5
	can41          = 1 << 9
	canTLS         = 1 << 11
	canSecure      = 1 << 15
	canPlugin      = 1 << 19
	canAttributes  = 1 << 20
	canLongAuth    = 1 << 21
	canTrack       = 1 << 23 // reads what changes of its session
	canZstd        = 1 << 26
	canQueryAttrs  = 1 << 27
	canManyFactors = 1 << 28
	canVerify      = 1 << 30 // a client that verifies the certificate
	// neither is what the door does not relay: bytes that it could not read, and a second password.
	neither = canCompress | canZstd | canManyFactors | canVerify
)

// greeting is what a server says first.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_v10.html
type greeting struct {
	version  string
	id       uint32
	salt     []byte // 20 bytes
	can      uint32
	charset  byte
	status   uint16
	reserved [10]byte // the last four are MariaDB's own capabilities
	plugin   string
}

const protocolVersion = 10

func parseGreeting(payload []byte) (g greeting, err error) {
	if len(payload) > 0 && payload[0] == isErr {
		return g, refusalOf(payload)
	}
	f := fields{b: payload}
	version := f.uint(1)
	g.version = f.text()
	g.id = uint32(f.uint(4))
	g.salt = append(g.salt, f.take(8)...)
	f.take(1)
	g.can = uint32(f.uint(2))
	g.charset = byte(f.uint(1))
	g.status = uint16(f.uint(2))
	g.can |= uint32(f.uint(2)) << 16
	f.take(1)
	copy(g.reserved[:], f.take(10))
	g.salt = append(g.salt, f.take(12)...)
	f.take(1)
	g.plugin = f.text()
	if f.bad || version != protocolVersion {
		return g, fmt.Errorf("the server's greeting: %w", errPacket)
	}
	return g, nil
}

func (g greeting) payload() []byte {
	b := append([]byte{protocolVersion}, g.version...)
	b = binary.LittleEndian.AppendUint32(append(b, 0), g.id)
	b = append(append(b, g.salt[:8]...), 0, byte(g.can), byte(g.can>>8), g.charset, byte(g.status), byte(g.status>>8), byte(g.can>>16), byte(g.can>>24), byte(len(g.salt)+1))
	b = append(b, g.reserved[:]...)
	b = append(append(b, g.salt[8:]...), 0)
	return append(append(b, g.plugin...), 0)
}

// response is a client's answer to a greeting.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_response.html
type response struct {
	can        uint32
	most       uint32
	collation  uint16 // above one byte where it comes from a change
	reserved   [23]byte
	user       string
	auth       []byte
	database   string
	plugin     string
	attributes []byte // as they came, with their length
}

// tlsRequest is how long the beginning of a response is after which TLS begins, in bytes.
const tlsRequest = 32

// isTLSRequest reports whether a payload is the beginning of a response, after which TLS begins.
func isTLSRequest(payload []byte) bool {
	return len(payload) == tlsRequest && binary.LittleEndian.Uint32(payload)&canTLS != 0
}

func parseResponse(payload []byte) (r response, err error) {
	f := fields{b: payload}
	r.can = uint32(f.uint(4))
	if r.can&can41 == 0 || r.can&canSecure == 0 {
		return r, refuse(erHandshake, stateHandshake, "the client speaks the protocol of before MySQL 4.1, which ramaria front does not")
	}
	if r.can&(canCompress|canZstd) != 0 { // although it was not offered
		return r, refuse(erHandshake, stateHandshake, "the client compresses, which ramaria front does not: connect without compression")
	}
	r.most = uint32(f.uint(4))
	r.collation = uint16(f.uint(1))
	copy(r.reserved[:], f.take(len(r.reserved)))
	r.user = f.text()
	if r.can&canLongAuth != 0 {
		r.auth = f.counted()
	} else {
		r.auth = f.take(int(f.uint(1)))
	}
	if r.can&canDatabase != 0 {
		r.database = f.text()
	}
	if r.can&canPlugin != 0 {
		r.plugin = f.text()
	}
	if before := f.b; r.can&canAttributes != 0 && len(f.b) > 0 {
		f.counted()
		r.attributes = before[:len(before)-len(f.b)]
	}
	if f.bad {
		return r, refuse(erHandshake, stateHandshake, "the client's login cannot be read")
	}
	return r, nil
}

// utf8mb4 is a collation that all servers know.
const utf8mb4 = 45

// wide reports whether a login has no room for the collation: servers read one byte of it there, and two in a change.
func (r response) wide() bool { return r.collation > 0xff }

// payload is a response with the capabilities can, of which the server has all.
func (r response) payload(can uint32) []byte {
	can |= can41 | canSecure | canPlugin | canLongAuth
	can &^= canTLS | canDatabase | canAttributes
	if r.database != "" {
		can |= canDatabase
	}
	if len(r.attributes) > 0 {
		can |= canAttributes
	}
	b := binary.LittleEndian.AppendUint32(nil, can)
	b = binary.LittleEndian.AppendUint32(b, r.most)
	collation := byte(r.collation)
	if r.wide() {
		collation = utf8mb4
	}
	b = append(append(b, collation), r.reserved[:]...)
	b = append(append(b, r.user...), 0)
	b = appendCounted(b, r.auth)
	if r.database != "" {
		b = append(append(b, r.database...), 0)
	}
	b = append(append(b, r.plugin...), 0)
	return append(b, r.attributes...)
}

// isChange begins the command by which a client logs in again.
const isChange = 0x11

// parseChange reads the command by which a client logs in again, as one with the capabilities of before.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_change_user.html
func parseChange(payload []byte, before response) (r response, err error) {
	r = before
	f := fields{b: payload}
	f.take(1)
	r.user = f.text()
	r.auth = f.take(int(f.uint(1)))
	r.database = f.text()
	r.plugin, r.attributes = "", nil
	if len(f.b) > 0 {
		r.collation = uint16(f.uint(2))
	}
	if r.can&canPlugin != 0 && len(f.b) > 0 {
		r.plugin = f.text()
	}
	if r.can&canAttributes != 0 {
		r.attributes = f.b
	}
	if f.bad {
		return r, refuse(erHandshake, stateHandshake, "the client's login cannot be read")
	}
	return r, nil
}

// change is the writing of parseChange, without an answer to a salt, so that the server asks for one.
func (r response) change() []byte {
	b := append(append([]byte{isChange}, r.user...), 0, 0)
	b = append(append(b, r.database...), 0)
	b = binary.LittleEndian.AppendUint16(b, r.collation)
	b = append(append(b, r.plugin...), 0)
	return append(b, r.attributes...)
}
