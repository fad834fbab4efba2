package differential

import (
	"maps"
	"slices"
)

// without is a trial that lacks some of its settings and steps, which are numbered through.
func (t *trial) without(database string, drop ...int) *trial {
	short := &trial{database: database, repeats: true}
	for i, s := range t.settings {
		if !slices.Contains(drop, i) {
			short.settings = append(short.settings, s)
		}
	}
	for i, s := range t.steps {
		if !slices.Contains(drop, len(t.settings)+i) {
			short.steps = append(short.steps, s)
		}
	}
	return short
}

// large are larger parts of a trial: all settings, and all steps of each line.
func (t *trial) large() (parts [][]int) {
	of := map[int][]int{}
	for i := range t.settings {
		of[-2] = append(of[-2], i)
	}
	for i, s := range t.steps {
		if s.line >= 0 {
			of[s.line] = append(of[s.line], len(t.settings)+i)
		}
	}
	for _, first := range slices.Sorted(maps.Keys(of)) {
		if len(of[first]) > 1 {
			parts = append(parts, of[first])
		}
	}
	return parts
}

// has reports whether a trial has settings of all the variables, and something of all the lines, of a short one.
func (t *trial) has(short *trial) bool {
	if !slices.ContainsFunc(short.steps, func(s step) bool { return s.line >= 0 }) {
		return false
	}
	for _, s := range short.settings {
		if !slices.ContainsFunc(t.settings, func(o setting) bool { return o.name == s.name }) {
			return false
		}
	}
	for _, s := range short.steps {
		if s.line >= 0 && !slices.ContainsFunc(t.steps, func(o step) bool { return o.line == s.line }) {
			return false
		}
	}
	return true
}

func (t *trial) size() int { return len(t.settings) + len(t.steps) }
