package front

// finder finds the commands for the door in what a client sends: it knows where each packet begins.
type finder struct {
	// counts says that the client sends, before a statement, how many attributes it has.
	counts bool
	// left is what is still to come of a packet of which the beginning was passed on.
	left int
	// more says that the next packet goes on with the last: that was as long as one can be, or one of the file
	// that LOAD DATA LOCAL sends, of which the count has come round.
	more bool
	// blank says that what is left of a command is not to be done: it becomes white space.
	blank bool
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
// with what comes after it. A long command that asks for the door becomes in b one that is refused.
func (c *finder) cut(b []byte) (pass, command int, err error) {
	for pass < len(b) {
		rest := b[pass:]
		if c.left > 0 {
			n := min(c.left, len(rest))
			if c.blank {
				blank(rest[:n])
			}
			pass, c.left = pass+n, c.left-n
			continue
		}
		if len(rest) < header {
			break
		}
		length, seq := lengthOf(rest), rest[3]
		look := header // how much of it to look at
		if seq == 0 && !c.more && length > 0 {
			c.blank = false
			if len(rest) == header {
				break
			}
			if first := rest[header]; interesting[first] {
				if first == isChange && length > mostLogin {
					return pass, 0, errPacket
				}
				if look += length; first != isChange {
					look = min(look, header+mostCommand)
				}
				if len(rest) < look {
					break // the rest of it is on its way
				}
				if c.see(rest[header:look], length <= mostCommand || first == isChange) {
					return pass, look, nil
				}
			}
		}
		c.more = length == full || (seq == 0xff && length > 0)
		pass, c.left = pass+look, header+length-look
	}
	return pass, 0, nil
}

// see looks at the beginning of a command, and reports whether it is for the door.
func (c *finder) see(payload []byte, whole bool) bool {
	if payload[0] == comReset { // by which the client's session is as after the login
		c.setUp = setUp{}
		return false
	}
	if !hasText(payload[0]) {
		return whole
	}
	at := textAt(payload, c.counts)
	if whole && !c.setUp.over {
		c.setUp.see(payload[0], string(payload[at:]))
	}
	c.setUp.over = c.setUp.over || !whole
	text := payload[at:]
	if whole || !forDoor(text) {
		return whole && forDoor(text)
	}
	if w, _ := wanted(string(text)); w.do != "" {
		blank(text[copy(text, tooLong(w)):])
		c.blank = true
	}
	return false
}

func blank(b []byte) {
	for i := range b {
		b[i] = ' '
	}
}
