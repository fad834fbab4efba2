package exporter

import (
	"bytes"
	"io"
	"strings"

	"github.com/ramaria-db/ramaria/internal/metrics"
)

// page is a page of metrics, merged of those of many instances: each family has one head.
type page struct {
	families map[string]*family
	order    []*family
}

// family is all samples of one name.
type family struct {
	name, help, kind string
	samples          []string
}

func newPage() *page { return &page{families: map[string]*family{}} }

func (p *page) family(name string) *family {
	f := p.families[name]
	if f == nil {
		f = &family{name: name}
		p.families[name] = f
		p.order = append(p.order, f)
	}
	return f
}

// add adds what metrics.Writer wrote: of each family its help, its type, its samples. Each sample gets the label
// name, unless name is "" or it has that label first already.
func (p *page) add(text []byte, name string) {
	label := metrics.Label("name", name)
	var f *family
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "# HELP "):
			of, help, _ := strings.Cut(line[len("# HELP "):], " ")
			f = p.family(of)
			f.help = help
		case strings.HasPrefix(line, "# TYPE "):
			of, kind, _ := strings.Cut(line[len("# TYPE "):], " ")
			f = p.family(of)
			f.kind = kind
		case line == "" || f == nil || line[0] == '#':
		case name == "":
			f.samples = append(f.samples, line)
		default:
			f.samples = append(f.samples, labelled(line, label))
		}
	}
}

// labelled is a sample with one more label, which comes first.
func labelled(line, label string) string {
	i := strings.IndexAny(line, "{ ")
	switch {
	case i < 0 || strings.HasPrefix(line[i:], `{name="`):
		return line
	case line[i] == '{':
		return line[:i+1] + label + "," + line[i+1:]
	}
	return line[:i] + "{" + label + "}" + line[i:]
}

// bounds are of buckets, as OpenMetrics wants numbers to be written.
var bounds = strings.NewReplacer(`le="1"`, `le="1.0"`, `le="10"`, `le="10.0"`)

// write writes the page in Prometheus' text format, or in that of OpenMetrics, which names a family of counters
// without its _total, and has an end.
// https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md
func (p *page) write(to io.Writer, open bool) error {
	var b bytes.Buffer
	w := metrics.Writer{Writer: &b}
	for _, f := range p.order {
		if len(f.samples) == 0 {
			continue
		}
		name := f.name
		if open && f.kind == "counter" {
			name = strings.TrimSuffix(name, "_total")
		}
		w.Head(name, f.kind, f.help)
		for _, s := range f.samples {
			if open && f.kind == "histogram" && strings.Contains(s, `le="1`) {
				s = bounds.Replace(s)
			}
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
	if open {
		b.WriteString("# EOF\n")
	}
	_, err := to.Write(b.Bytes())
	return err
}
