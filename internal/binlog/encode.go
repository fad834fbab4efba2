package binlog

import "encoding/base64"

// appendHeader begins an event; its length is to be filled in. BINLOG looks at neither
// position nor flags.
func appendHeader(b []byte, t EventType, timestamp, serverID uint32) []byte {
	b = le.AppendUint32(b, timestamp)
	b = append(b, byte(t))
	b = le.AppendUint32(b, serverID)
	return append(b, make([]byte, headerLen-9)...)
}

func appendTableID(b []byte, id uint64) []byte {
	b = le.AppendUint32(b, uint32(id))
	return le.AppendUint16(b, uint16(id>>32))
}

func appendPacked(b []byte, n uint64) []byte {
	if n < 251 {
		return append(b, byte(n))
	}
	return le.AppendUint16(append(b, 252), uint16(n)) // columns: at most 4096
}

// appendOnes appends a bitmap of n ones.
func appendOnes(b []byte, n int) []byte {
	for ; n >= 8; n -= 8 {
		b = append(b, 0xff)
	}
	if n > 0 {
		b = append(b, byte(1)<<n-1)
	}
	return b
}

// rowsHeaderLen is how long a rows event is without its rows, at most.
func rowsHeaderLen(r Rows) int {
	return headerLen + 10 + 3 + 2*((r.width+7)/8)
}

func (m *TableMap) eventLen() int { return headerLen + 8 + len(m.body) }

// appendEvent appends the TABLE_MAP event of m under another number.
func (m *TableMap) appendEvent(b []byte, id uint64, serverID, timestamp uint32) []byte {
	at := len(b)
	b = appendHeader(b, TableMapEvent, timestamp, serverID)
	b = appendTableID(b, id)
	b = le.AppendUint16(b, m.flags)
	b = append(b, m.body...)
	le.PutUint32(b[at+9:], uint32(len(b)-at))
	return b
}

// Base64 returns what [Format.Event] does as the text to put between the quotes of
// BINLOG '...', which comes before all others of a session.
func (f *Format) Base64() []byte {
	return base64.StdEncoding.AppendEncode(nil, f.Event())
}
