package binlog

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// What Merge makes one transaction of: so many, or so many bytes of rows, at most.
const (
	mergeGroups = 256
	mergeBytes  = 1 << 20
)

// Merged is what Merge wrote.
type Merged struct {
	// Groups is how many there were, and Read their bytes.
	Groups, Read int64
	// Written is how many bytes were written, 0 if there was no group.
	Written int64
	// Places are where what was written comes from, in order.
	Places []Place
	// GTIDs is the state of MariaDB's behind the last group.
	GTIDs GTIDs
	// Version is that of the server which wrote the file, and Ends32 says that the rows may have the last moment of 32 bits
	// with a sign; see lastMoment.
	Version string
	Ends32  bool
}

// Place is where a group that was written stands in the file, or the first of several that were made one.
type Place struct {
	Written, Read int64
	// Groups is how many there are.
	Groups int
}

// Merge copies the groups of a file of a log from one offset to another, for an applier that is to be done
// with all of them before anything is read: transactions of nothing but rows that follow each other become
// one, up to a limit, which spares the applier what each costs beside its rows. Events stay as they are,
// with what they say of their place; only what MySQL's say of each other is counted afresh. What stands
// between groups is left out.
//
// 0 for to is the end of the last group that is whole. Both must be where groups end, or between them.
// Groups that begin at an offset of leaveOut are left out. apart keeps each of the others by itself. Errors are those of
// Scan. statement, unless nil, is called for statements of the kind Statement, and may give one another SQLMode, or have it left
// out by a SQL that is nil.
// touched, unless nil, is called for every group: it is in what is written from an offset on, where a group begins.
func Merge(w io.Writer, path string, from, to int64, leaveOut map[int64]bool, apart bool, statement func(*Query) error, touched func(written int64, t *Touched)) (Merged, error) {
	s, ext, err := openScan(path, 0)
	m := &merger{s: s, w: w, from: max(from, int64(len(magic))), to: to, leaveOut: leaveOut, apart: apart, touched: touched}
	if s != nil {
		defer s.l.f.Close()
		s.each = m.take
		s.events = func(e *Event) error {
			m.toucher.note(e)
			m.out.Ends32 = m.out.Ends32 || e.Type.hasTable() // compressed
			return nil
		}
		if statement != nil {
			s.statements = func(e *Event) error {
				if s.group.Start < m.from || to > 0 && s.group.Start >= to {
					return nil
				}
				q, err := ParseQuery(e)
				if err != nil {
					return err
				}
				was := q.SQLMode
				if err := statement(&q); err != nil {
					return err
				}
				m.passed = q.SQL == nil
				if m.mode = nil; q.SQLMode != was {
					m.mode = &q.SQLMode
				}
				return nil
			}
		}
		if err = s.run(); errors.Is(err, errMerged) {
			err = nil
		}
		ext = s.ext
	}
	if err == nil && max(m.from, to) > max(ext.End, int64(len(magic))) {
		err = fmt.Errorf("it is to be read from %d to %d, and its last transaction that is whole ends at %d", m.from, to, ext.End)
	}
	if err == nil {
		err = m.flush()
	}
	if err != nil {
		return Merged{}, fmt.Errorf("read binary log %s: %w", path, err)
	}
	m.out.GTIDs = ext.GTIDs
	if s != nil && s.l.format != nil {
		m.out.Version = s.l.format.Version
	}
	return m.out, nil
}

// errMerged ends the scan behind the last group that is wanted.
var errMerged = errors.New("that is all")

// merger is one copying of a file.
type merger struct {
	s        *scan
	w        io.Writer
	from, to int64
	leaveOut map[int64]bool
	apart    bool
	out      Merged

	// head, rows and xid are the parts of the transaction that is being made, of count groups; the
	// head is that of the last of them, whose GTID it gets, but for one that says no time zone where
	// another does.
	head, rows, xid []byte
	count           int
	first           Group
	zone            string
	// after is what the transaction must come after, by its new number.
	after int64

	numbers numbers

	copies  copies
	mode    *uint64 // the sql_mode that the statement of the group is to have, nil for its own
	passed  bool    // the statement of the group is left out
	one     []byte  // an event
	last    []byte  // the end of what was written, if it is shorter than lastMoment
	toucher toucher
	touched func(int64, *Touched)
}

// take is called for every group.
func (m *merger) take(g Group) error {
	defer func() {
		m.toucher.next()
		m.mode, m.passed = nil, false
	}()
	switch {
	case g.Start < m.from && m.from < g.End, g.Start < m.to && m.to < g.End:
		return fmt.Errorf("it is to be read from %d to %d, and a transaction is from %d to %d", m.from, m.to, g.Start, g.End)
	case m.to > 0 && g.Start >= m.to:
		return errMerged
	case g.Start < m.from, m.leaveOut[g.Start], m.passed:
		return nil
	}
	if m.out.Groups == 0 {
		if err := m.begin(); err != nil {
			return err
		}
	}
	m.out.Groups++
	m.out.Read += g.End - g.Start
	size := int(g.xid - g.rows)
	if m.apart || !g.plain || size > mergeBytes || g.numbered { // of several that are one, an applier would note the last GTID alone
		return m.copyOrSplit(g)
	}
	too, err := m.repeats(g)
	if too && err == nil && m.count > 0 {
		if err = m.flush(); err == nil {
			too, err = m.repeats(g)
		}
	}
	if err != nil {
		return err
	}
	if too {
		return m.split(g)
	}
	if m.count == mergeGroups || len(m.rows)+size > mergeBytes || m.count > 0 && !m.joins(g) {
		if err := m.flush(); err != nil {
			return err
		}
	}
	return m.add(g, size)
}

// begin writes what a file begins with, as that of a server which closed it.
func (m *merger) begin() error {
	if err := m.write(magic); err != nil {
		return err
	}
	return errors.Join(m.write(m.s.l.format.raw), m.write(m.s.previous))
}

// joins reports whether a group may be one with those before it: of the same domain and server, and of sessions that are alike,
// as far as the log says, for what the applier computes from rows.
func (m *merger) joins(g Group) bool {
	if g.session.settings != m.first.session.settings || g.session.zone != "" && m.zone != "" && g.session.zone != m.zone {
		return false
	}
	return g.GTID.Domain == m.first.GTID.Domain && g.GTID.Server == m.first.GTID.Server && (g.clock == clock{}) == (m.first.clock == clock{})
}

// add makes a group a part of the transaction.
func (m *merger) add(g Group, size int) (err error) {
	if m.count == 0 {
		m.first, m.after, m.zone = g, 0, ""
		m.numbers.next++
	}
	m.count++
	m.touch(g)
	m.after = max(m.after, m.numbers.add(g.clock))
	if zone := g.session.zone; zone != "" || m.zone == "" {
		m.zone = zone
		if m.head, err = m.s.append(m.head[:0], g.Start, g.rows); err != nil {
			return err
		}
	}
	was := len(m.rows)
	if m.rows, err = m.s.append(m.rows, g.rows, g.rows+int64(size)); err != nil {
		return err
	}
	for b := m.rows[was:]; len(b) > 0; {
		n := le.Uint32(b[9:])
		m.trust(b[:n])
		b = b[n:]
	}
	m.xid, err = m.s.append(m.xid[:0], g.xid, g.End)
	return err
}

// touch tells what a group does, and where that is going to be.
func (m *merger) touch(g Group) {
	if m.touched != nil {
		m.touched(m.out.Written, m.toucher.take(g))
	}
}

// flush writes the transaction, if there is one.
func (m *merger) flush() error {
	if m.count == 0 {
		return nil
	}
	m.out.Places = append(m.out.Places, Place{m.out.Written, m.first.Start, m.count})
	m.number(m.head, m.first.clock)
	err := errors.Join(m.write(m.head), m.write(m.rows), m.write(m.xid))
	m.rows, m.count = m.rows[:0], 0
	m.copies.clear()
	return err
}

// copyOrSplit writes a group that is too large to be joined to others.
func (m *merger) copyOrSplit(g Group) error {
	if g.plain && !g.numbered {
		if err := m.flush(); err != nil {
			return err
		}
		too, err := m.repeats(g)
		if m.copies.clear(); too {
			return m.split(g)
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return err
		}
	}
	return m.copy(g)
}

// errTooLong says that an event is longer than what is read as a whole.
var errTooLong = errors.New("an event is too long")

// copy writes a group as it is.
func (m *merger) copy(g Group) error {
	if err := m.flush(); err != nil {
		return err
	}
	m.touch(g)
	m.out.Places = append(m.out.Places, Place{m.out.Written, g.Start, 1})
	m.numbers.next++
	m.after = m.numbers.add(g.clock)
	for at := g.Start; at < g.End; {
		var err error
		if m.head, err = m.s.append(m.head[:0], at, at+headerLen); err != nil {
			return err
		}
		n := int64(le.Uint32(m.head[9:]))
		if n > mostWhole {
			if _, err = io.Copy(sink{m}, io.NewSectionReader(m.s.l.f, at, n)); err != nil {
				return err
			}
			at += n
			continue
		}
		if m.head, err = m.s.append(m.head, at+headerLen, at+n); err != nil {
			return err
		}
		if at == g.Start {
			m.number(m.head, g.clock)
		}
		m.trust(m.head)
		if m.mode != nil && EventType(m.head[4]) == QueryEvent {
			if err := m.setMode(m.head, *m.mode); err != nil {
				return err
			}
		}
		if err := m.write(m.head); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// mostWhole is the longest event, in bytes, that is read as a whole.
const mostWhole = 64 << 20

// trust has the applier not look again at what the server that wrote a rows event has looked at.
//
// Foreign keys of a MySQL that logs the rows which they change: the applier would find out by itself what they change, and
// for REPLACE 9.7 itself does otherwise. CHECKs of MariaDB: they may depend on a setting of the session that no log has.
// https://dev.mysql.com/doc/refman/9.6/en/create-table-foreign-keys.html
// https://mariadb.com/kb/en/rows_event_v1v2-rows_compressed_event_v1/
func (m *merger) trust(b []byte) {
	const at, noForeignKeys, logsForeignKeys, noChecks = headerLen + 6, 1 << 1, 1 << 4, 1 << 7
	t := EventType(b[4])
	if t.Rows() == NotRows && t != PartialUpdateRowsEvent || len(b) < at+2 {
		return
	}
	var flag byte
	switch {
	case m.s.l.format.Flavour == MariaDB:
		flag = noChecks
	case b[at]&logsForeignKeys != 0:
		flag = noForeignKeys
	}
	if b[at]|flag == b[at] {
		return
	}
	b[at] |= flag
	m.sum(b)
}

// setMode gives the event of a statement another sql_mode.
func (m *merger) setMode(b []byte, mode uint64) error {
	const statusLenAt = headerLen + queryPostLen - 2
	at := headerLen + m.s.l.format.postHeader(QueryEvent, queryPostLen)
	if len(b) < at || len(b) < at+int(le.Uint16(b[statusLenAt:])) {
		return errNoMode
	}
	vars := b[at : at+int(le.Uint16(b[statusLenAt:]))]
	if len(vars) > 0 && vars[0] == qFlags2 {
		vars = vars[min(len(vars), 1+4):]
	}
	if len(vars) < 1+8 || vars[0] != qSQLMode {
		return errNoMode
	}
	le.PutUint64(vars[1:], mode)
	m.sum(b)
	return nil
}

// errNoMode says that a statement is to have another sql_mode, and its event has none where servers write it.
var errNoMode = errors.New("a statement has no sql_mode")

// sum gives an event that was changed its checksum.
func (m *merger) sum(b []byte) {
	if m.s.l.format.Checksum {
		n := le.Uint32(b[9:]) - checksumLen
		le.PutUint32(b[n:], crc32.ChecksumIEEE(b[:n]))
	}
}

// sink is a merger as what is written to.
type sink struct{ m *merger }

func (s sink) Write(b []byte) (int, error) { return len(b), s.m.write(b) }

// lastMoment is 2038-01-19 03:14:07.999999 as a TIMESTAMP(6): where MariaDB, before 11.5, has a row of a table with system
// versioning end that has not ended.
var lastMoment = []byte("\x7f\xff\xff\xff\x0f\x42\x3f")

// look looks for lastMoment in what is written, and in what it makes with what was written before.
func (m *merger) look(b []byte) {
	if m.out.Ends32 {
		return
	}
	most := len(lastMoment) - 1
	m.last = append(m.last, b[:min(most, len(b))]...)
	m.out.Ends32 = bytes.Contains(b, lastMoment) || bytes.Contains(m.last, lastMoment)
	m.last = append(m.last, b[max(min(most, len(b)), len(b)-most):]...)
	m.last = append(m.last[:0], m.last[max(0, len(m.last)-most):]...)
}

func (m *merger) write(b []byte) error {
	m.look(b)
	n, err := m.w.Write(b)
	m.out.Written += int64(n)
	return err
}

// append appends a part of the file, from the buffer if it is there.
func (s *scan) append(b []byte, from, to int64) ([]byte, error) {
	if from >= s.bufAt && to <= s.bufAt+int64(len(s.buf)) {
		return append(b, s.buf[from-s.bufAt:to-s.bufAt]...), nil
	}
	n := len(b)
	b = append(b, make([]byte, to-from)...)
	return b, s.l.read(b[n:], from)
}

// isPlain reports whether an event changes rows, or is a note beside it. Of MariaDB it must be under all checks:
// without them it fills an empty table in one go, which is not to meet other changes in the same transaction.
// https://mariadb.com/kb/en/innodb-insert/ (MDEV-24621)
func (e *Event) isPlain() bool {
	const noForeignKeys, noUniqueness = 1 << 1, 1 << 2
	switch {
	case e.Type == TableMapEvent, e.Type == RowsQueryEvent, e.Type == AnnotateRowsEvent:
		return true
	case e.Type.Rows() == NotRows && !e.Type.hasTable(), len(e.Body) < 8:
		return false
	}
	return e.Format.Flavour == MySQL || e.Body[6]&(noForeignKeys|noUniqueness) == 0
}
