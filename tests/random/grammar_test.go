package random

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// software is what tags in the text files choose by.
type software struct {
	flavour string
	version []int
}

func newSoftware(flavour, version string) software {
	s := software{flavour: flavour}
	for _, part := range strings.Split(version, ".") {
		n, _ := strconv.Atoi(part) // a suffix is of no interest
		s.version = append(s.version, n)
	}
	return s
}

var tag = regexp.MustCompile(`\s+@(mariadb|mysql)(?: (\d+)\.(\d+))?$`)

// offers returns a line without its tag, and whether it is for this server.
func (s software) offers(line string) (string, bool) {
	line = strings.TrimRight(line, " ")
	m := tag.FindStringSubmatch(line)
	if m == nil {
		return line, true
	}
	line = line[:len(line)-len(m[0])]
	if m[1] != s.flavour {
		return line, false
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	return line, len(s.version) < 2 || s.version[0] > major || s.version[0] == major && s.version[1] >= minor
}

// grammar is the alternatives of each rule; one with a larger weight is repeated.
type grammar map[string][]string

var weight = regexp.MustCompile(`^(\d+)\| `)

// read adds the rules of a text.
func (g grammar) read(text string, s software) {
	rule := ""
	for line := range strings.Lines(text) {
		line, offered := s.offers(strings.TrimRight(line, "\n"))
		switch {
		case line == "" || line[0] == '#':
		case line[0] != '\t':
			rule = line
		case offered:
			line, times := line[1:], 1
			if m := weight.FindStringSubmatch(line); m != nil {
				times, _ = strconv.Atoi(m[1])
				line = line[len(m[0]):]
			}
			for range times {
				g[rule] = append(g[rule], line)
			}
		}
	}
}

// without leaves lines of a text out that match a pattern, if there is one.
func without(text, pattern string) string {
	if pattern == "" {
		return text
	}
	out := regexp.MustCompile(pattern)
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool { return strings.HasPrefix(line, "\t") && out.MatchString(line) })
	return strings.Join(lines, "")
}

var hole = regexp.MustCompile(`\{[a-z]+\}`)

// maxDepth keeps a grammar that goes round in circles from doing so for ever.
const maxDepth = 20

// maker makes statements of a grammar about a schema.
type maker struct {
	*rand.Rand
	grammar grammar
	tables  []*table
	// known are names that were made up since the last call of forget; n numbers them.
	known []string
	n     int
	// lease is part of the names that the whole server shares.
	lease string

	// The objects of the statement that is being generated.
	at      *table
	column  *column
	columns []*column
	depth   int
}

// make returns one alternative of a rule, with everything filled in.
func (m *maker) make(rule string) string {
	list := m.grammar[rule]
	if len(list) == 0 {
		panic(fmt.Sprintf("the grammar has no rule %q", rule))
	}
	return m.fill(list[m.IntN(len(list))])
}

// fill fills in what stands in braces, from left to right.
func (m *maker) fill(text string) string {
	if m.depth++; m.depth > maxDepth {
		panic("the grammar goes round in circles: " + text)
	}
	defer func() { m.depth-- }()
	return hole.ReplaceAllStringFunc(text, func(h string) string {
		name := h[1 : len(h)-1]
		if word := words[name]; word != nil {
			return word(m)
		}
		return m.make(name)
	})
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }
