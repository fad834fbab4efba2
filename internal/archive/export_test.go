package archive

// SetSegments makes segments of another size, and the next one by beside; the result puts it back.
func SetSegments(size int64, with func(func())) (restore func()) {
	was, wasBeside := segmentSize, beside
	segmentSize, beside = size, with
	return func() { segmentSize, beside = was, wasBeside }
}

// Dir is where the segments of a log lie.
func (id LogID) Dir() string { return id.dir() }

// SegmentName is the name of one.
func (id LogID) SegmentName(n uint64) string { return id.segment(n) }
