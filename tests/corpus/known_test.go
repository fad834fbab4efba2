package corpus

import (
	"regexp"
	"sync/atomic"
)

// difference is one that is known: of inputs and servers that match, in a step, with such a text.
// An empty pattern matches all.
type difference struct {
	input, server, step, said string
	// reason is a sentence for the page.
	reason string
	used   atomic.Bool
}

// known are the differences that do not fail a run. One that no input has any more fails it.
var known = []*difference{
	{
		input: `^sakila/package`, server: "^mysql", step: "^(clone|reset)$", said: `information_schema\.COLUMNS:\n.*COLUMN_DEFAULT= IS_NULLABLE=NO`,
		reason: "MySQL notes whether a view's column can be NULL by the `sql_mode` of the session that makes the view; a clone's views are made in another one.",
	},
	{
		input: "^express-session/package", step: "pack", said: "the last statement of the dump has no end",
		reason: "`dump pack` has no server that would refuse half a statement: it wants a semicolon behind the last one, and says so.",
	},
	{
		input: "^cacti/package", server: "^mysql", step: "load|from|pack", said: "NO_AUTO_CREATE_USER",
		reason: "MySQL's client takes `DELIMITER` behind a block comment for the beginning of a statement; Ramaria obeys it, and the server refuses a later statement.",
	},
}

func (k *difference) matches(r result, step, said string) bool {
	for _, pair := range [][2]string{{k.input, r.input.name}, {k.server, r.server}, {k.step, step}, {k.said, said}} {
		if !regexp.MustCompile(pair[0]).MatchString(pair[1]) {
			return false
		}
	}
	return true
}

// reasonOf is why a difference is let pass; empty if it is not.
func reasonOf(r result, step string) string {
	for _, k := range known {
		if k.matches(r, step, r.steps[step].said) {
			k.used.Store(true)
			return k.reason
		}
	}
	return ""
}
