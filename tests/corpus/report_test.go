package corpus

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// report is what a run found.
type report struct {
	inputs   []input
	results  []result
	failures []string
}

// took is how long all steps took together.
func (r report) took() (sum time.Duration) {
	for _, one := range r.results {
		for _, step := range one.steps {
			sum += step.took
		}
	}
	return sum
}

func countDialects(inputs []input) int {
	seen := map[string]bool{}
	for _, in := range inputs {
		seen[in.dialect] = true
	}
	return len(seen)
}

// cell is a result in the table.
func (r result) cell() string {
	var bad []string
	for _, step := range steps {
		if said := r.steps[step].said; said == "" || step == "client" {
			continue
		}
		word := "**" + step + "**"
		if reasonOf(r, step) != "" {
			word = step + " known"
		}
		bad = append(bad, word)
	}
	times := fmt.Sprintf("%d / %d ms", r.steps["client"].took.Milliseconds(), r.steps["load"].took.Milliseconds())
	switch {
	case len(bad) > 0:
		return strings.Join(bad, ", ")
	case r.refused != nil:
		return fmt.Sprintf("refused: %d", r.refused.number)
	}
	return times
}

// counts are how many checks ended in which way.
func (r report) counts() (same, refused, reasoned, bad int) {
	for _, one := range r.results {
		switch cell := one.cell(); {
		case strings.Contains(cell, "**"):
			bad++
		case strings.Contains(cell, "known"):
			reasoned++
		case one.refused != nil:
			refused++
		default:
			same++
		}
	}
	return same, refused, reasoned, bad
}

// page is docs/corpus.md.
func (r report) page() string {
	var b strings.Builder
	same, refused, reasoned, bad := r.counts()
	fmt.Fprintf(&b, `# The corpus

%s writes this page. It takes schemas that packages of Debian, Maven, npm, Go and PyPI ship, fills
their empty tables, has the servers' own dumpers write them, and checks each dump on each server:

1. The server's own client loads the dump.
2. %s loads it, and %s does: all that SQL can see must be as the client has loaded it.
3. The loaded database becomes a template. A clone of it is the same; after changes and a reset too.
4. %s rewrites the dump, and the client loads the result: again the same.
5. What the client refuses, Ramaria must refuse, with the server's number of the error and the line.

The steps of the last run took %d minutes together: %d inputs from %d sources, in %d dialects, on %d servers.

| checks | ended |
|--:|---|
| %d | the same in every step |
| %d | refused alike |
| %d | differ for a known reason |
| %d | differ |

`, "`make corpus`", "`ramaria load`", "`--from`", "`ramaria dump pack`", int(r.took().Minutes()), len(r.inputs), r.sources(), countDialects(r.inputs), len(r.servers()), same, refused, reasoned, bad)
	if len(r.failures) > 0 {
		b.WriteString("Without input:\n\n")
		for _, f := range r.failures {
			first, _, _ := strings.Cut(f, "\n")
			fmt.Fprintf(&b, "- %s\n", first)
		}
		b.WriteString("\n")
	}
	r.writeKnown(&b)
	r.writeTable(&b)
	return b.String()
}

func (r report) sources() int {
	seen := map[string]bool{}
	for _, in := range r.inputs {
		name, _, _ := strings.Cut(in.name, "/")
		seen[name] = true
	}
	return len(seen)
}

func (r report) servers() (list []string) {
	for _, one := range r.results {
		if !slices.Contains(list, one.server) {
			list = append(list, one.server)
		}
	}
	return list
}

func (r report) writeKnown(b *strings.Builder) {
	if len(known) == 0 {
		return
	}
	b.WriteString("## Known differences\n\n| where | why |\n|---|---|\n")
	for _, k := range known {
		fmt.Fprintf(b, "| %s | %s |\n", code(k.input+" "+k.server+" "+k.step), k.reason)
	}
	b.WriteString("\n")
}

// code is a text as code in a table.
func code(text string) string {
	return "`" + strings.ReplaceAll(strings.TrimSpace(text), "|", `\|`) + "`"
}

// writeTable writes a row for each input.
func (r report) writeTable(b *strings.Builder) {
	fmt.Fprintf(b, "## Inputs\n\nTimes are those of the client and of `ramaria load`, which begins with its own process; the run shares\ntwo cores with others and measures nothing. `refused: N` is the server's number of the error.\n\n| input | kB |")
	for _, s := range r.servers() {
		fmt.Fprintf(b, " %s |", s)
	}
	fmt.Fprintf(b, "\n|---|--:|%s\n", strings.Repeat("---|", len(r.servers())))
	for _, in := range r.inputs {
		fmt.Fprintf(b, "| %s | %d |", in.name, (in.size+1023)/1024)
		for _, s := range r.servers() {
			cell := ""
			for _, one := range r.results {
				if one.input.name == in.name && one.server == s {
					cell = one.cell()
				}
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		b.WriteString("\n")
	}
}
