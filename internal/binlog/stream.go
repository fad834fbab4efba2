package binlog

// Stream takes the bytes of one file of a log as they come, in pieces of any size, and gives out its events.
// Of most it looks at the header alone, and skips the rest: it is for who follows a log at the speed at which
// it is written. It is not safe for several goroutines.
type Stream struct {
	// Whole says of which events, by kind and length in bytes, the body is wanted. The others come without, and unchecked.
	Whole func(EventType, int64) bool
	// File is the name that events are given.
	File string

	format *Format
	// at is where the next event begins, of which part has come, or of which skip bytes are still to come.
	at   int64
	part []byte
	skip int64
}

// At is where the next event begins that is not given out yet.
func (s *Stream) At() int64 { return s.at }

// Next is how far the bytes have been taken.
func (s *Stream) Next() int64 {
	if s.skip > 0 {
		return s.at - s.skip
	}
	return s.at + int64(len(s.part))
}

// Write takes the bytes that follow those before. each is called for every event that begins among them, when
// its header has come, or, where the body is wanted, all of it; the event holds until each returns. Errors are
// of type *CorruptError, or those of each, and stay for the file.
func (s *Stream) Write(b []byte, each func(*Event) error) error {
	if s.at == 0 && len(s.part) == 0 {
		s.at, s.skip = int64(len(magic)), int64(len(magic))
	}
	for {
		if n := min(s.skip, int64(len(b))); n > 0 {
			s.skip -= n
			b = b[n:]
		}
		have := s.part
		if len(have) == 0 {
			have = b
		}
		n, whole, err := s.length(have)
		if err != nil {
			return err
		}
		switch {
		case int64(len(have)) < n:
			took := min(n-int64(len(s.part)), int64(len(b)))
			s.part = append(s.part, b[:took]...)
			if b = b[took:]; int64(len(s.part)) < n {
				return nil
			}
		case whole:
			if len(s.part) == 0 {
				b = b[n:]
			}
			if err := s.give(have[:n], each); err != nil {
				return err
			}
		default:
			if err := s.pass(have, each); err != nil {
				return err
			}
		}
	}
}

// length is how much of the next event is needed to go on, of which some bytes are there: its header, or all of it.
func (s *Stream) length(have []byte) (n int64, whole bool, err error) {
	if len(have) < headerLen {
		return headerLen, false, nil
	}
	if n, err = eventLen(have, s.format); err != nil {
		return 0, false, located(err, Position{s.File, s.at})
	}
	if t := EventType(have[4]); t != FormatDescriptionEvent && !s.Whole(t, n) {
		return headerLen, false, nil
	}
	return n, true, nil
}

// give gives out an event that is there as a whole.
func (s *Stream) give(b []byte, each func(*Event) error) error {
	e := Event{File: s.File, Offset: s.at}
	if err := e.fill(b, s.format); err != nil {
		return located(err, e.Pos())
	}
	s.format = e.Format
	s.at += e.Length
	err := each(&e)
	s.part = s.part[:0]
	return err
}

// pass gives out an event of which only the header is wanted, and skips the rest.
func (s *Stream) pass(have []byte, each func(*Event) error) error {
	n, _ := eventLen(have, s.format) // length has seen that it is right
	e := Event{Type: EventType(have[4]), Format: s.format, File: s.File, Offset: s.at, Length: n}
	e.Timestamp, e.ServerID, e.Flags = le.Uint32(have), le.Uint32(have[5:]), le.Uint16(have[17:])
	s.skip = n - int64(len(s.part))
	s.at += n
	s.part = s.part[:0]
	return each(&e)
}
