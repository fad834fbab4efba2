package front

// finder finds the commands for the door in what a client sends: it knows where each packet begins.
type finder struct {
	// left is what is still to come of a packet of which the beginning was passed on.
	left int
	// more says that the next packet goes on with the last: that was as long as one can be, or one of the file
	// that LOAD DATA LOCAL sends, of which the count has come round.
	more bool
	// setUp is what the client sends right after its login.
	setUp setUp
}

// mostCommand bounds the commands that the door reads whole, in bytes.
const mostCommand = 4 << 10

// mostHeld bounds what is kept of a client until the rest of a command has come, in bytes.
const mostHeld = header + mostLogin

// full is the length of a packet that goes on in the next.
const full = 1<<24 - 1

// cut says how much of b, what the client has sent next, the server gets as it is, and how long the command for the
// door is that follows, with its header: 0 where none is there whole. What stands behind both is to be cut again,
// with what comes after it.
func (c *finder) cut(b []byte) (pass, command int, err error) {
	for pass < len(b) {
		rest := b[pass:]
		if c.left > 0 {
			n := min(c.left, len(rest))
			pass, c.left = pass+n, c.left-n
			continue
		}
		if len(rest) < header {
			break
		}
		length, seq := lengthOf(rest), rest[3]
		whole := header + length
		if seq == 0 && !c.more && length > 0 {
			if len(rest) == header {
				break
			}
			if first := rest[header]; interesting[first] && (length <= mostCommand || first == isChange) {
				if whole > mostHeld {
					return pass, 0, errPacket
				}
				if len(rest) < whole {
					break // the rest of it is on its way
				}
				c.setUp.see(first, rest[header:whole])
				if forDoor(first, rest[header:whole]) {
					return pass, whole, nil
				}
			}
		}
		c.more = length == full || (seq == 0xff && length > 0)
		c.left = whole
	}
	return pass, 0, nil
}
