// Package grammar makes up statements for random tests: grammars and schemas are texts, in which
// what only some servers understand is tagged, so that tests need no condition on a flavour.
package grammar

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Types are types of columns, and values of them, as rules of a grammar.
//
//go:embed types.txt
var Types string

// Software is what tags in the text files choose by.
type Software struct {
	Flavour string
	Version []int
}

// NewSoftware takes the words of a server for itself.
func NewSoftware(flavour, version string) Software {
	s := Software{Flavour: flavour}
	for _, part := range strings.Split(version, ".") {
		n, _ := strconv.Atoi(part) // a suffix is of no interest
		s.Version = append(s.Version, n)
	}
	return s
}

var tag = regexp.MustCompile(`\s+@(mariadb|mysql)(?: (\d+)\.(\d+))?$`)

// Offers returns a line without its tag, and whether it is for this server.
func (s Software) Offers(line string) (string, bool) {
	line = strings.TrimRight(line, " ")
	m := tag.FindStringSubmatch(line)
	if m == nil {
		return line, true
	}
	line = line[:len(line)-len(m[0])]
	if m[1] != s.Flavour {
		return line, false
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	return line, len(s.Version) < 2 || s.Version[0] > major || s.Version[0] == major && s.Version[1] >= minor
}

// Grammar is the alternatives of each rule; one with a larger weight is repeated.
type Grammar map[string][]string

var weight = regexp.MustCompile(`^(\d+)\| `)

// Read adds the rules of a text.
func (g Grammar) Read(text string, s Software) {
	rule := ""
	for line := range strings.Lines(text) {
		line, offered := s.Offers(strings.TrimRight(line, "\n"))
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

// Without leaves lines of a text out that match a pattern, if there is one.
func Without(text, pattern string) string {
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

// Maker makes statements of a grammar about a schema.
type Maker struct {
	*rand.Rand
	Grammar Grammar
	Tables  []*Table
	// known are names that were made up since the last call of Forget; n numbers them.
	known []string
	n     int
	// Scope is part of the names that the whole server shares.
	Scope string
	// Words are holes that this maker fills in a way of its own.
	Words map[string]func() string

	// The objects of the statement that is being generated.
	At      *Table
	column  *Column
	Columns []*Column
	depth   int
}

// Make returns one alternative of a rule, with everything filled in.
func (m *Maker) Make(rule string) string {
	list := m.Grammar[rule]
	if len(list) == 0 {
		panic(fmt.Sprintf("the grammar has no rule %q", rule))
	}
	return m.Fill(list[m.IntN(len(list))])
}

// Fill fills in what stands in braces, from left to right.
func (m *Maker) Fill(text string) string {
	if m.depth++; m.depth > maxDepth {
		panic("the grammar goes round in circles: " + text)
	}
	defer func() { m.depth-- }()
	return hole.ReplaceAllStringFunc(text, func(h string) string {
		name := h[1 : len(h)-1]
		if word := m.Words[name]; word != nil {
			return word()
		}
		if word := words[name]; word != nil {
			return word(m)
		}
		return m.Make(name)
	})
}

// Pick returns one of a list.
func Pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }
