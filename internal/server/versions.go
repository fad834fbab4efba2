package server

// Reads reports whether this server starts on data that version v of its flavour wrote
// last: not on that of a later series, nor, in a strict one, of a later release.
func (s *Server) Reads(v Version) bool {
	if v.Compare(s.Version) <= 0 {
		return true
	}
	return v.Series() == s.Version.Series() && v.Series() != s.Family().strict
}

// StepTo returns the series that data of version v has to be upgraded to before this
// server can, "" if it can at once.
func (s *Server) StepTo(v Version) string {
	for _, series := range s.Family().steps {
		step, err := ParseVersion(series)
		if err != nil {
			panic(err) // a row of ours
		}
		if v != (Version{}) && v.Series() != series && v.Compare(step) < 0 && step.Compare(s.Version) < 0 && series != s.Version.Series() {
			return series
		}
	}
	return ""
}
