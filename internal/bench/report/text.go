package report

import (
	"regexp"
	"strings"
	"unicode"
)

// emOf returns the width of a rune in em, that of DejaVu Sans: as wide as any font that a
// browser takes for "sans-serif", so that what is given room by it fits in all of them.
func emOf(r rune) float64 {
	switch {
	case strings.ContainsRune(" ijlI.,:;'|!/\\", r):
		return 0.34
	case strings.ContainsRune("frt()[]{}-\"`", r):
		return 0.42
	case strings.ContainsRune("mwMW@%", r):
		return 0.98
	case strings.ContainsRune("+=<>~#&^", r):
		return 0.84
	case unicode.IsUpper(r):
		return 0.72
	case r < 0x2e80:
		return 0.64
	}
	return 1.05 // ideographs, emoji
}

// widthOf estimates the width of a text in the units of a drawing.
func widthOf(text string, size float64) float64 {
	em := 0.0
	for _, r := range text {
		em += emOf(r)
	}
	return em * size
}

func widestOf(texts []string, size float64) float64 {
	widest := 0.0
	for _, t := range texts {
		widest = max(widest, widthOf(t, size))
	}
	return widest
}

// wrap breaks a text into lines that measure at most room each: between words; within a
// word that is too long for a line of its own behind a sign such as / or _; and only where
// that does not help, anywhere. It never loses a letter.
func wrap(text string, room float64, measure func(string) float64) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		gap := " "
		if line == "" {
			gap = ""
		}
		if measure(line+gap+word) <= room {
			line += gap + word
			continue
		}
		if line != "" && measure(word) <= room {
			lines = append(lines, line)
			line = word
			continue
		}
		for _, part := range partsOf(word) {
			if line != "" && measure(line+gap+part) > room {
				lines = append(lines, line)
				line, gap = "", ""
			}
			for _, r := range part {
				if line != "" && measure(line+gap+string(r)) > room {
					lines = append(lines, line)
					line, gap = "", ""
				}
				line += gap + string(r)
				gap = ""
			}
		}
	}
	return append(lines, line)
}

// partsOf cuts a word behind the signs where it may be broken.
func partsOf(word string) []string {
	return strings.FieldsFunc(breakable.ReplaceAllString(word, "$0 "), unicode.IsSpace)
}

var breakable = regexp.MustCompile(`[-/_=,.:;|@+]+`)

// clean replaces what would break out of a line of text, be it on a terminal or in a table.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
