package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

//go:embed report.html.tmpl plot.svg.tmpl report.css plot.css
var files embed.FS

// templates hold the page and its parts. The style sheets are templates without actions,
// so that they need no conversion that switches escaping off.
// They are read when they are needed: that takes longer than most commands do.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"fsync": fsync, "wide": wide, "narrow": narrow, "clauses": clauses}).ParseFS(files, "*.tmpl", "*.css"))
})

// page is what the template of a report takes.
type page struct {
	Measured string    // when, and by which ramaria; "" if the results do not say
	Where    string    // on which machine; "" if there are several
	Headline *headline // nil for none
	Sections []section
	Machines []machine
}

// machine is the facts of a machine, formatted.
type machine struct {
	Number      int // from 1; 0 if there is but one
	Facts       []pair
	Directories []runner.Directory
}

// WriteHTML writes the results as one HTML file that needs nothing else: no network, no
// script, no fonts. It reads on a phone and on paper, in light and dark.
func WriteHTML(w io.Writer, results []runner.Result) error {
	sections, machines := sectionsOf(results)
	p := page{Measured: measuredOf(results), Headline: headlineOf(results, sections), Sections: sections}
	if len(machines) == 1 {
		p.Where = clean(machineOf(machines[0]))
	}
	for i, m := range machines {
		facts := machine{Facts: factsOf(m), Directories: m.Directories}
		if len(machines) > 1 {
			facts.Number = i + 1
		}
		p.Machines = append(p.Machines, facts)
	}
	if err := templates().ExecuteTemplate(w, "report.html.tmpl", p); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func factsOf(m runner.Machine) []pair {
	var facts []pair
	for _, f := range []pair{
		{"CPU", m.CPU}, {"cores", positive(m.Cores)}, {"memory", positiveBytes(m.MemoryBytes)}, {"kernel", m.Kernel}, {"system", m.System},
	} {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	return facts
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func positiveBytes(n int64) string {
	if n <= 0 {
		return ""
	}
	return runner.Bytes.Format(float64(n))
}

// fsync formats the latency of fsync of a place, which is 0 if it was not measured.
func fsync(seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	return runner.Seconds.Format(seconds)
}
