package repeatable

import "strings"

// set is a set of words, in lower case.
type set map[string]bool

func words(list string) set {
	s := set{}
	for w := range strings.SplitSeq(list, "|") {
		s[w] = true
	}
	return s
}

// has compares without regard to case.
func (s set) has(word []byte) bool {
	const longest = 32
	if len(word) > longest {
		return false
	}
	var lower [longest]byte
	for i, c := range word {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	return s[string(lower[:len(word)])]
}

// functions give the same for the same, whatever the session and the server are set to, but for
// what events carry. What depends on a setting that they do not carry is not among them: division
// (div_precision_increment), WEEK and EXTRACT (default_week_format), regular expressions
// (default_regex_flags), AES_ENCRYPT (block_encryption_mode).
var functions = words("abs|sign|floor|ceil|ceiling|round|truncate|mod|greatest|least|" +
	"coalesce|ifnull|nullif|if|nvl|nvl2|isnull|" +
	"concat|concat_ws|lower|lcase|upper|ucase|trim|ltrim|rtrim|substring|substr|substring_index|mid|left|right|" +
	"length|char_length|character_length|octet_length|bit_length|bit_count|replace|reverse|locate|position|instr|strcmp|" +
	"field|find_in_set|elt|ascii|ord|char|hex|unhex|bin|oct|conv|to_base64|from_base64|" +
	"md5|sha|sha1|sha2|crc32|crc32c|" +
	"cast|convert|binary|" +
	"year|month|day|dayofmonth|dayofweek|dayofyear|weekday|quarter|hour|minute|second|microsecond|" +
	"date|to_days|from_days|last_day|datediff|timestampdiff|date_add|date_sub|adddate|subdate|makedate|" +
	"json_array|json_object|json_extract|json_unquote|json_value|json_quote|json_valid|json_length|json_type|json_depth|" +
	"json_keys|json_contains|json_contains_path|json_merge_patch|json_merge_preserve|json_set|json_insert|json_replace|json_remove|" +
	"inet_aton|inet_ntoa|inet6_aton|inet6_ntoa|is_ipv4|is_ipv6|uuid_to_bin|bin_to_uuid|is_uuid|" +
	"point|st_x|st_y|st_srid|st_geomfromtext|st_pointfromtext|st_geometryfromtext|st_astext|st_aswkb|st_geomfromwkb|" +
	"in|and|or|not|xor|when|then|else|case|between|like|interval|as|div|is|any|" +
	"decimal|nchar|varchar|datetime|time|varbinary|float|double|numeric|dec|signed|unsigned")

// clocks are the time of the statement, which events carry in seconds, and with the fraction where
// the statement asked for it.
var clocks = words("now|current_timestamp|localtime|localtimestamp|current_date|curdate|current_time|curtime|" +
	"utc_date|utc_time|utc_timestamp")

// changing are words that without parentheses are functions or queries.
const changing = "select|sysdate|rownum|current_user|current_role|user|nextval|lastval|currval|next|previous|" +
	"regexp|rlike|match|sounds"

// expression reads an expression and returns why it may differ from call to call, or "". It is
// read from behind its first parenthesis to behind the last, or to one of the words.
func (p *parser) expression(until string) string {
	why := ""
	note := func(s string) {
		if why == "" {
			why = s
		}
	}
	depth, qualified := 0, false
	for {
		dot := p.symbol('.')
		switch {
		case p.tok.kind == tokenEnd:
			if until == "" {
				p.bad()
			}
			return why
		case p.tok.kind == tokenBad:
			return "it is not understood"
		case depth == 0 && until != "" && p.is(until):
			return why
		case p.symbol('('):
			depth++
		case p.symbol(')'):
			if depth == 0 {
				if until == "" {
					p.next()
				}
				return why
			}
			depth--
		case p.symbol('@'):
			note("a variable")
		case p.symbol('/'):
			note("division depends on div_precision_increment")
		case p.tok.kind == tokenName, p.tok.kind == tokenWord:
			if clock, fine := p.clock(); clock {
				if !fine {
					note("fractions of a second")
				}
				continue
			}
			word, quoted := p.tok.text, p.tok.kind == tokenName
			if !quoted && p.is(changing) {
				note(strings.ToUpper(string(word)) + " may differ from call to call")
			}
			p.next()
			if !p.mysql && !quoted && (same(word, "datetime") || same(word, "date") && p.tok.kind != tokenString && !p.symbol('(')) {
				note("a TIME that becomes a date is what the session's old_mode says")
			}
			if p.symbol('(') && (quoted || qualified || !functions.has(word)) {
				note(strings.ToUpper(string(word)) + "() may differ from call to call")
			}
			qualified = false
			continue
		}
		qualified = dot
		p.next()
	}
}

// clock moves over NOW() and the like. It reports false as the second if it asks for fractions of
// a second that the event does not have.
func (p *parser) clock() (is, fine bool) {
	if p.tok.kind != tokenWord || !clocks.has(p.tok.text) {
		return false, false
	}
	p.next()
	if !p.symbol('(') {
		return true, true
	}
	p.next()
	fine = true
	if !p.symbol(')') {
		fine = p.fraction || string(p.tok.text) == "0"
		p.next()
	}
	return true, p.eatSymbol(')') && fine
}

// now moves over the time of the statement as ON UPDATE has it, which existing rows do not get.
func (p *parser) now() bool {
	is, _ := p.clock()
	return is
}

// defaultValue is behind DEFAULT: what rows get that are there already, if the column is new.
func (c *column) defaultValue() {
	begin := c.parser
	if c.literal() && c.literalEnds() {
		return
	}
	c.parser = begin
	why := ""
	if c.eatSymbol('(') {
		why = c.expression("")
	} else if clock, fine := c.clock(); clock {
		if !fine {
			why = "fractions of a second"
		}
	} else if c.tok.kind == tokenBad {
		c.unknown()
		return
	} else {
		known := c.tok.kind == tokenWord && functions.has(c.tok.text)
		why = shorten(c.tok.text) + " may differ from call to call"
		c.next()
		if c.eatSymbol('(') {
			if inner := c.expression(""); known || inner != "" {
				why = inner
			}
		}
	}
	if why != "" && c.added {
		c.fence("function", "a new column's default: "+why)
	}
}

// literal moves over a literal.
func (p *parser) literal() bool {
	if !p.eatSymbol('-') {
		p.eatSymbol('+')
	}
	switch {
	case p.eat("null|true|false"):
		return true
	case p.tok.kind == tokenString:
	case p.tok.kind == tokenWord && p.tok.text[0] == '_', p.is("n|x|b|date|time|timestamp"): // an introducer
		p.next()
		p.eat("x|b")
		if p.tok.kind == tokenWord && (p.tok.text[0] == '0') {
			p.next()
			return true
		}
	default:
		return p.number()
	}
	if p.tok.kind != tokenString {
		return false
	}
	for p.tok.kind == tokenString {
		p.next()
	}
	return true
}

// number moves over a number: its parts are tokens of their own.
func (p *parser) number() bool {
	digits := func() bool { return p.tok.kind == tokenWord && p.tok.text[0] >= '0' && p.tok.text[0] <= '9' }
	is := digits()
	exponent := false
	if is {
		exponent = endsInE(p.tok.text)
		p.next()
	}
	if p.eatSymbol('.') && digits() {
		is = true
		exponent = endsInE(p.tok.text)
		p.next()
	}
	if is && exponent && (p.eatSymbol('-') || p.eatSymbol('+')) {
		is = digits()
		p.next()
	}
	return is
}

// endsInE reports whether a sign and the exponent of a number may follow.
func endsInE(b []byte) bool {
	hex := len(b) > 1 && b[0] == '0' && b[1]|0x20 == 'x'
	return !hex && same(b[len(b)-1:], "e")
}

// literalEnds reports whether nothing follows that makes an expression of a literal.
func (p *parser) literalEnds() bool {
	return p.tok.kind == tokenEnd || p.tok.kind == tokenWord || p.symbol(',') || p.symbol(')') || p.symbol(';')
}
