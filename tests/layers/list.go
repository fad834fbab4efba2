package main

import (
	"fmt"
	"slices"
	"strings"
)

// A list is the ordered list of layers, top to bottom.
type list struct {
	layers []*layer
	places map[string]*place
}

// A layer is a row of packages that do not import each other.
type layer struct {
	name   string
	depth  int // 0 is the top
	places []*place
}

// A place is where a package stands.
type place struct {
	path   string // below the module's
	is     string // what the package is
	why    string // what the linter says about an import that is not allowed
	only   []string
	not    []string
	helper bool // tests of every layer may import it
	layer  *layer
}

// nothing stands for an empty list in layers.txt.
const nothing = "nothing"

// parseList reads layers.txt.
func parseList(text string) (*list, error) {
	l := &list{places: map[string]*place{}}
	var current *layer
	var last *place
	n := 0
	for line := range strings.Lines(text) {
		n++
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		indented := strings.HasPrefix(line, " ")
		switch {
		case word == "" || word == "#":
		case word == "layer" && !indented:
			current = &layer{name: rest, depth: len(l.layers)}
			l.layers, last = append(l.layers, current), nil
		case !indented:
			if current == nil || rest == "" || l.places[word] != nil {
				return nil, fmt.Errorf("%d: package %s has no layer, no text or a line above", n, word)
			}
			last = &place{path: word, is: rest, layer: current}
			current.places = append(current.places, last)
			l.places[word] = last
		case last == nil:
			return nil, fmt.Errorf("%d: %s belongs to no package", n, word)
		default:
			if err := last.attribute(word, rest); err != nil {
				return nil, fmt.Errorf("%d: %w", n, err)
			}
		}
	}
	if err := l.checkNames(); err != nil {
		return nil, err
	}
	return l, nil
}

func (p *place) attribute(word, rest string) error {
	switch {
	case word == "why" && rest != "":
		p.why = rest
	case word == "only" && rest != "":
		p.only = strings.Fields(rest)
	case word == "not" && rest != "":
		p.not = strings.Fields(rest)
	case word == "helper":
		p.helper = true
	default:
		return fmt.Errorf("%q is no line of a package: want why, only, not or helper", word)
	}
	return nil
}

// checkNames refuses a package behind only or not that does not stand below.
func (l *list) checkNames() error {
	for _, p := range l.all() {
		for _, path := range slices.Concat(p.only, p.not) {
			switch q := l.places[path]; {
			case path == nothing && len(p.only) == 1:
			case q == nil || q.layer.depth <= p.layer.depth:
				return fmt.Errorf(" %s: %s does not stand below it", p.path, path)
			}
		}
	}
	return nil
}

// all returns the places, top to bottom.
func (l *list) all() []*place {
	var all []*place
	for _, layer := range l.layers {
		all = append(all, layer.places...)
	}
	return all
}

// mayImport tells whether p may import q.
func (p *place) mayImport(q *place) bool {
	return q.layer.depth > p.layer.depth &&
		(p.only == nil || slices.Contains(p.only, q.path)) && !slices.Contains(p.not, q.path)
}

// testsMayImport tells whether tests of p may import q.
func (p *place) testsMayImport(q *place) bool { return q == p || q.helper || p.mayImport(q) }
