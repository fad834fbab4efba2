package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/view"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Ways to write, by ECMA-48 (SGR).
const (
	bold, dim, reverse = "\x1b[1m", "\x1b[2m", "\x1b[7m"
	red, green, yellow = "\x1b[31m", "\x1b[32m", "\x1b[33m"
	ordinary           = "\x1b[0m"
)

// key obeys a key; false ends.
func (s *topScreen) key(key string) bool {
	last, was := len(s.sorted())-1, s.selected
	switch key {
	case "q", "Q", "\x03", "\x04": // Ctrl-C and Ctrl-D, which a raw terminal passes on
		return false
	case "s":
		s.sort = (s.sort + 1) % len(topOrders)
	case "j", "\x1b[B", "\x1bOB":
		s.selected = min(s.selected+1, last)
	case "k", "\x1b[A", "\x1bOA":
		s.selected = max(s.selected-1, 0)
	case "a":
		s.all = !s.all
	case "g", "\x1b[H":
		s.selected = 0
	case "G", "\x1b[F":
		s.selected = max(0, last)
	}
	if s.selected != was {
		s.name = ""
	}
	return true
}

// frame is the whole screen: it is written over the last one, line by line, so that nothing flickers.
func (s *topScreen) frame() string {
	all := s.sorted()
	if n := slices.IndexFunc(all, func(i view.Instance) bool { return i.Name == s.name }); n >= 0 {
		s.selected = n
	}
	s.selected = max(0, min(s.selected, len(all)-1))
	if len(all) > 0 {
		s.name = all[s.selected].Name
	}
	var lines []string
	for n, text := range s.head(s.seen.Instances) {
		style := ""
		if n == 0 {
			style = bold
		}
		lines = append(lines, s.styled(style, text))
	}
	lines = append(lines, "")
	about := s.about(all)
	if len(s.seen.Instances) == 0 {
		lines = append(lines, "no instances; ramaria up makes one")
	} else {
		lines = append(lines, s.rows(max(1, s.height-len(lines)-len(about)-2))...)
	}
	// What is said of the chosen one, and the keys, are at the bottom.
	for len(lines)+len(about)+1 < s.height {
		lines = append(lines, "")
	}
	lines = append(lines, about...)
	lines = append(lines, s.styled(dim, joined(s.width, "  ", "q ends", "s sorts (by "+topOrders[s.sort].name+")", "j k choose", s.foldWords())))
	lines = lines[:min(len(lines), max(1, s.height))]
	return "\x1b[H" + strings.Join(lines, "\x1b[K\r\n") + "\x1b[K\x1b[J"
}

// foldWords say what the key a does.
func (s *topScreen) foldWords() string {
	if s.all {
		return "a folds what is stopped"
	}
	return "a shows all"
}

// What stands before the chosen row, and before others.
const chosen, notChosen = "> ", "  "

// rows are the heads, and so many rows of the list as there is room for, the chosen one among them.
func (s *topScreen) rows(most int) []string {
	rows := s.arranged()
	list := s.list(rows, s.width-len(chosen))
	at := max(0, slices.IndexFunc(rows, func(r topRow) bool { return r.text == "" && r.Name == s.name }))
	s.first = max(0, min(s.first, at, len(rows)-most))
	s.first = max(s.first, at-most+1)
	lines := []string{s.styled(reverse, padded(notChosen+list[0], s.width))}
	for n := s.first; n < min(len(rows), s.first+most); n++ {
		text, style := notChosen+list[n+1], rowStyle(rows[n])
		if n == at && rows[n].text == "" {
			text = chosen + list[n+1]
		}
		lines = append(lines, s.styled(style, text))
	}
	return lines
}

func rowStyle(r topRow) string {
	if r.text != "" {
		return dim
	}
	return phaseStyle(r.Instance)
}

func phaseStyle(i view.Instance) string {
	switch {
	case i.Phase == instance.Crashed || i.Phase == instance.Gone || i.Trouble != "":
		return red
	case len(i.Warnings) > 0 || i.Phase == instance.Starting || i.Phase == instance.Stopping:
		return yellow
	case i.Phase != instance.Running:
		return dim
	}
	return ""
}

// mostSaid is how many lines of the screen, one in so many, are about the chosen instance.
const mostSaid = 3

// about is what there is to say of the chosen instance, of others in trouble, and of records that cannot be read.
func (s *topScreen) about(all []view.Instance) []string {
	if len(all) == 0 {
		return nil
	}
	i := all[s.selected]
	facts := []string{i.Name + ": data " + volume.FormatBytes(i.DataBytes), "server " + volume.FormatBytes(i.ServerBytes)}
	if i.Port != 0 && i.Phase.Alive() {
		facts = append(facts, fmt.Sprintf("tcp %s:%d", i.Host, i.Port))
	}
	facts = append(facts, phaseWords(i.Phase, i.Since))
	if len(i.Marks) > 0 {
		facts = append(facts, fmt.Sprintf("%d marks", len(i.Marks)))
	}
	lines := []string{"", s.styled(dim, joined(s.width, ", ", facts...))}
	words := said(i)
	for n, other := range all {
		if n != s.selected && (len(other.Warnings) > 0 || other.Trouble != "") {
			words = append(words, said(other)...)
		}
	}
	for _, n := range s.seen.Notes {
		words = append(words, line(n))
	}
	for _, w := range words[:min(len(words), max(1, s.height/mostSaid-len(lines)))] {
		lines = append(lines, s.styled(yellow, cut(w, s.width)))
	}
	return lines
}

func (s *topScreen) styled(style, text string) string {
	text = cut(text, s.width)
	if !s.coloured && style != reverse && style != bold || style == "" {
		return text
	}
	return style + text + ordinary
}

// cut shortens a text to so many columns.
func cut(text string, width int) string {
	r := []rune(text)
	if len(r) <= width {
		return text
	}
	return string(r[:max(0, width)])
}

// padded is a text with spaces up to so many columns.
func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-len([]rune(text))))
}
