package main

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// failLines is how much of a failed test's output the report repeats, so that a
// reader of a long log, or of its end alone, finds the cause.
const failLines = 30

// firstLines and firstWidth are how much of it is said in short; linesBefore are those before the line
// by which a script ends: what its last command said.
const firstLines, linesBefore, firstWidth = 3, 4, 200

// verdictLine is of go test, and not what a test printed.
var verdictLine = regexp.MustCompile(`^\s*--- (FAIL|PASS|SKIP): `)

var scriptFails = regexp.MustCompile(`^\s*FAIL: script/`)

// The first of these that a line fits is where a failure begins: a script's, or a fault of the program;
// else whatever a test said, for an error is not told from a log.
var failureBegins = []*regexp.Regexp{
	scriptFails,
	regexp.MustCompile(`^\s*(panic: |fatal error: |WARNING: DATA RACE)`),
	regexp.MustCompile(`^\S+\.go:\d+:\d+: `), // of the compiler
	regexp.MustCompile(`^\s*\S+\.go:\d+: `),
	regexp.MustCompile(`\S`),
}

func newFailure(output []string, victim bool) failure {
	var said []string
	for line := range strings.Lines(strings.Join(output, "")) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" && !verdictLine.MatchString(line) {
			said = append(said, line)
		}
	}
	f := failure{tail: slices.Clone(output[max(0, len(output)-failLines):]), said: len(said) > 0, victim: victim}
	for _, begins := range failureBegins {
		i := slices.IndexFunc(said, begins.MatchString)
		if i < 0 {
			continue
		}
		short := said[i:min(i+firstLines, len(said))]
		if begins == scriptFails {
			short = said[max(0, i-linesBefore) : i+1]
		}
		for _, line := range short {
			f.first = append(f.first, cut(strings.TrimSpace(line)))
		}
		break
	}
	return f
}

// cut cuts a line to firstWidth bytes.
func cut(line string) string {
	if len(line) <= firstWidth {
		return line
	}
	line = line[:firstWidth]
	for !utf8.ValidString(line) && len(line) > firstWidth-utf8.UTFMax {
		line = line[:len(line)-1]
	}
	return line + "..."
}
