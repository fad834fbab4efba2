package binlog

import "hash/maphash"

// MariaDB's applier finds a row in a table without a key by any index that there is. Of rows that are copies of each other
// it finds the first, past the index entries of those that the same transaction has changed already, each time: the work
// grows with the square of how many copies a transaction changes. So Merge cuts such a transaction in several.

const (
	// mostCopies is how many copies of a row one transaction may update or delete.
	mostCopies = 32
	// mostImages bounds how many different rows are remembered.
	mostImages = 1 << 16
)

// copies counts the images that are looked for in a transaction.
type copies struct {
	seed maphash.Seed
	seen map[uint64]uint8
	ends []int
}

// add counts another image, and reports whether there are too many copies of it.
func (c *copies) add(image []byte) bool {
	if c.seen == nil {
		c.seed, c.seen = maphash.MakeSeed(), map[uint64]uint8{}
	}
	if len(c.seen) >= mostImages {
		clear(c.seen)
	}
	at := maphash.Bytes(c.seed, image)
	if c.seen[at] == mostCopies {
		return true
	}
	c.seen[at]++
	return false
}

func (c *copies) clear() { clear(c.seen) }

// looked calls each for the rows that an event looks for: with the image that is looked for, where the row begins and
// where it ends, in bytes from the first. It reports false for an event that is another one, or cannot be read.
func (c *copies) looked(m *TableMap, r Rows, each func(image []byte, from, to int) bool) (ok bool) {
	if m == nil || r.Kind == Write || r.Kind == NotRows {
		return false
	}
	var err error
	if c.ends, err = m.Split(c.ends[:0], r); err != nil {
		return false
	}
	columns, from := m.imaged(r), 0
	for _, to := range c.ends {
		image := r.images[from:to]
		if r.Kind == Update {
			n, err := m.image(image, columns)
			if err != nil {
				return false
			}
			image = image[:n]
		}
		if !each(image, from, to) {
			break
		}
		from = to
	}
	return true
}

// rowsOf parses a rows event that is there as a whole, and finds the map of its table.
func (m *merger) rowsOf(b []byte) (t *TableMap, r Rows) {
	e := Event{File: m.s.l.name}
	if EventType(b[4]).Rows() == NotRows || e.fill(b, m.s.l.format) != nil {
		return nil, r
	}
	r, err := ParseRows(&e)
	if err != nil {
		return nil, r
	}
	return m.toucher.byID[r.TableID], r
}

// repeats counts the images that a group looks for, and reports whether there are too many copies of one.
func (m *merger) repeats(g Group) (too bool, err error) {
	if m.s.l.format.Flavour != MariaDB || !m.toucher.changes() {
		return false, nil
	}
	err = m.events(g.rows, g.xid, func(b []byte) error {
		if t, r := m.rowsOf(b); !too {
			m.copies.looked(t, r, func(image []byte, _, _ int) bool {
				too = m.copies.add(image)
				return !too
			})
		}
		return nil
	})
	return too, err
}

// events calls each for the events between two offsets. Of one that is too long it sees the beginning of its header.
func (m *merger) events(from, to int64, each func(b []byte) error) (err error) {
	for at := from; at < to; {
		if m.one, err = m.s.append(m.one[:0], at, at+headerLen); err != nil {
			return err
		}
		n := int64(le.Uint32(m.one[9:]))
		if n > mostWhole {
			return errTooLong
		}
		if m.one, err = m.s.append(m.one, at+headerLen, at+n); err != nil {
			return err
		}
		if err := each(m.one); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// split writes a group of nothing but rows as several transactions, each with no more copies of a row than it may have.
func (m *merger) split(g Group) error {
	if err := m.flush(); err != nil {
		return err
	}
	m.copies.clear()
	m.touch(g)
	p := &parts{m: m, place: g.Start}
	var err error
	if p.head, err = m.s.append(nil, g.Start, g.rows); err != nil {
		return err
	}
	if p.tail, err = m.s.append(nil, g.xid, g.End); err != nil {
		return err
	}
	if err := m.events(g.rows, g.xid, p.take); err != nil {
		return err
	}
	return p.end()
}

// parts are the transactions that a group is cut into.
type parts struct {
	m     *merger
	place int64
	// head and tail are what each begins and ends with.
	head, tail []byte
	// maps are those of the statement, and fresh those of them that the transaction being made does not have yet; rows are
	// its events, the last of which begins at last.
	maps, fresh, rows []byte
	last              int
	// ended says that the statement has ended.
	ended bool
}

// take takes the next event of the group.
func (p *parts) take(b []byte) error {
	if EventType(b[4]) == TableMapEvent {
		if p.ended {
			p.maps, p.ended = p.maps[:0], false
		}
		p.maps, p.fresh = append(p.maps, b...), append(p.fresh, b...)
		return nil
	}
	if EventType(b[4]).Rows() == NotRows && !EventType(b[4]).hasTable() {
		return nil // the text of the statement, for readers
	}
	p.m.trust(b)
	t, r := p.m.rowsOf(b)
	last := b[flagsAt]&rowsStatementEnd != 0
	begun, upTo := 0, 0 // the rows that are not written yet
	var err error
	ok := p.m.copies.looked(t, r, func(image []byte, from, to int) bool {
		if p.m.copies.add(image) {
			if p.event(b, r, begun, from); len(p.rows) > 0 {
				err = p.cut()
			}
			p.m.copies.add(image)
			begun = from
		}
		upTo = to
		return err == nil
	})
	switch {
	case err != nil:
		return err
	case ok:
		p.event(b, r, begun, upTo)
	default:
		p.begin()
		p.last = len(p.rows)
		p.rows = append(p.rows, b...)
	}
	p.ended = last
	p.flag(last)
	return nil
}

// flagsAt is where a rows event has its flags.
const flagsAt = headerLen + 6

// begin comes before another event: it needs the maps of its statement.
func (p *parts) begin() {
	maps := p.fresh
	if len(p.rows) == 0 {
		maps = p.maps
	}
	p.rows, p.fresh = append(p.rows, maps...), p.fresh[:0]
}

// event writes some of the rows of an event.
func (p *parts) event(b []byte, r Rows, from, to int) {
	if from == to {
		return
	}
	p.begin()
	p.last = len(p.rows)
	end := len(b)
	if p.m.s.l.format.Checksum {
		end -= checksumLen
	}
	p.rows = append(p.rows, b[:end-len(r.images)]...)
	p.rows = append(p.rows, r.images[from:to]...)
	if p.m.s.l.format.Checksum {
		p.rows = append(p.rows, make([]byte, checksumLen)...)
	}
	le.PutUint32(p.rows[p.last+9:], uint32(len(p.rows)-p.last))
	p.flag(false)
}

// flag says whether the last event ends the statement.
func (p *parts) flag(ends bool) {
	e := p.rows[p.last:]
	if e[flagsAt] &^= rowsStatementEnd; ends {
		e[flagsAt] |= rowsStatementEnd
	}
	p.m.sum(e)
}

// cut ends a transaction.
func (p *parts) cut() error {
	p.flag(true)
	m := p.m
	m.out.Places = append(m.out.Places, Place{m.out.Written, p.place, 1})
	for _, b := range [][]byte{p.head, p.rows, p.tail} {
		if err := m.write(b); err != nil {
			return err
		}
	}
	p.rows = p.rows[:0]
	m.copies.clear()
	return nil
}

// end ends the last one.
func (p *parts) end() error {
	if len(p.rows) == 0 {
		return nil
	}
	return p.cut()
}
