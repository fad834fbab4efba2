package front

import (
	"bytes"
	"encoding/binary"
)

// Flags in an answer that all is well.
// https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html#a1d854e841086925be1883e4d7b4e8cad
const (
	// byItself says that each statement is committed (autocommit).
	byItself = 1 << 1
	// stateChanged says that the answer ends with what has changed of the session, such as its database.
	stateChanged = 1 << 14
)

// okay is an answer that all is well.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html
type okay struct {
	head        []byte // up to the warnings, which are its last two bytes, after two of flags
	info, state []byte // what the server says of it, and what has changed of the session
}

// parseOkay reads an answer; bad is one of another kind. tracked says that the client reads what has changed of the session.
func parseOkay(payload []byte, tracked bool) (o okay, bad bool) {
	if len(payload) == 0 || payload[0] != isOK {
		return o, true
	}
	f := fields{b: payload[1:]}
	f.length() // rows
	f.length() // the last number made
	f.take(4)
	if f.bad {
		return o, true
	}
	o.head = bytes.Clone(payload[:len(payload)-len(f.b)])
	if !tracked || len(f.b) == 0 {
		return o, false
	}
	o.info = f.counted()
	if o.flags()&stateChanged != 0 {
		o.state = f.counted()
	}
	return o, f.bad
}

func (o okay) flagsAt() []byte { return o.head[len(o.head)-4:] }

func (o okay) flags() uint16 { return binary.LittleEndian.Uint16(o.flagsAt()) }

// payload is the writing of parseOkay.
func (o okay) payload() []byte {
	flags := o.flags() &^ stateChanged
	if len(o.state) > 0 {
		flags |= stateChanged
	}
	binary.LittleEndian.PutUint16(o.flagsAt(), flags)
	out := appendCounted(o.head, o.info)
	if len(o.state) > 0 {
		out = appendCounted(out, o.state)
	}
	return out
}

// proven is the server's answer that all is well, as one that proves to a client of MariaDB that who has the
// certificate knows the password, too: without it, the client trusts no certificate that nobody has signed. The proof
// stands where the server's message would.
// https://mariadb.com/docs/server/security/encryption/data-in-transit-encryption/zero-configuration-ssl
func proven(ok, proof []byte, tracked bool) []byte {
	o, bad := parseOkay(ok, tracked)
	if bad {
		return ok
	}
	o.info = proof
	return o.payload()
}

// changed is what an answer says has changed of the session, for a client that reads that.
func changed(payload []byte) []byte {
	o, bad := parseOkay(payload, true)
	if bad {
		return nil
	}
	return o.state
}

// telling is an answer that says first that state has changed.
func telling(payload, state []byte) []byte {
	o, bad := parseOkay(payload, true)
	if bad {
		return payload
	}
	o.state = append(bytes.Clone(state), o.state...)
	return o.payload()
}
