package repeatable

// What a definition says when it is read may depend on a setting of the session that no event has: servers write the outcome
// into the definition, not what was said.

// bySession makes a fence of a definition with a part of that kind. Bodies of routines, triggers and events are kept as they
// are.
func (s *statement) bySession() {
	if s.verdict.Fence != "" {
		return
	}
	p := newParser(s.query, s.mysql)
	s.parser = p
	s.inner()
	if !s.eat("create|alter") {
		return
	}
	if s.modifiers(); !s.is("table|temporary|ignore|view|index|unique|vector") {
		return
	}
	for !s.end() && s.tok.kind != tokenBad && s.verdict.Fence == "" {
		switch {
		case s.mysql && s.eat("week"):
			s.week()
		case !s.mysql && s.eat("time"):
			if s.tok.kind == tokenString {
				s.fence("now", "a TIME that becomes a date is what the session's old_mode says")
			}
		case !s.mysql && s.eat("vector"):
			s.vector()
		default:
			s.next()
		}
	}
}

// week is behind WEEK: without a mode it gets that of default_week_format.
func (s *statement) week() {
	if !s.eatSymbol('(') {
		return
	}
	for depth := 0; depth >= 0 && !s.end() && s.tok.kind != tokenBad; s.next() {
		switch {
		case s.symbol('('):
			depth++
		case s.symbol(')'):
			depth--
		case depth == 0 && s.symbol(','):
			return
		}
	}
	s.fence("function", "WEEK without a mode is what the session's default_week_format says")
}

// vector is behind VECTOR: of an index, mhnsw_default_m and mhnsw_default_distance say what the statement does not.
func (s *statement) vector() {
	s.eat("index|key")
	if !s.symbol('(') {
		s.match("if not exists")
		s.name()
		if s.eat("on") {
			s.table("")
		}
	}
	if !s.eatSymbol('(') || s.tok.kind == tokenWord && s.tok.text[0] >= '0' && s.tok.text[0] <= '9' { // the type, with how many
		return
	}
	for !s.eatSymbol(')') {
		if s.end() || s.tok.kind == tokenBad {
			return
		}
		s.next()
	}
	said := map[string]bool{}
	for !s.end() && s.tok.kind != tokenBad && !s.symbol(',') && !s.symbol(')') {
		for _, option := range []string{"m", "distance"} {
			if s.tok.kind != tokenString && same(s.tok.text, option) {
				s.next()
				s.eatSymbol('=')
				said[option] = !s.is("default")
				break
			}
		}
		if !s.symbol(',') && !s.symbol(')') {
			s.next()
		}
	}
	if !said["m"] || !said["distance"] {
		s.fence("option", "a VECTOR index without M or DISTANCE has those of the session")
	}
}
