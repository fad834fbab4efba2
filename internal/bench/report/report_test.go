package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (go test -update writes it):\n%s", name, diff)
	}
}

func TestGolden(t *testing.T) {
	plot := func(r runner.Result, i int) func(io.Writer) error {
		return func(w io.Writer) error { return WriteSVG(w, Plots(&r)[i]) }
	}
	bars := func(r runner.Result, width int, color bool) func(io.Writer) error {
		return func(w io.Writer) error { return Bars(w, &r, width, color) }
	}
	for name, write := range map[string]func(io.Writer) error{
		"report.html":      func(w io.Writer) error { return WriteHTML(w, examples()) },
		"empty.html":       func(w io.Writer) error { return WriteHTML(w, nil) },
		"report.md":        func(w io.Writer) error { return WriteMarkdown(w, examples()) },
		"bars-log.svg":     plot(cycleResult(), 0),
		"bars-linear.svg":  plot(upResult(), 0),
		"bars-awkward.svg": plot(awkwardResult(), 0),
		"lines.svg":        plot(oltpResult(), 0),
		"lines-p99.svg":    plot(oltpResult(), 1),
		"bars-log.txt":     bars(cycleResult(), 80, false),
		"bars-color.txt":   bars(upResult(), 100, true),
		"bars-rates.txt":   bars(updateResult(), 20, false),
		"bars-lines.txt":   bars(oltpResult(), 60, false),
		"bars-awkward.txt": bars(awkwardResult(), 72, false),
		"bars-none.txt":    bars(nothingMeasured(), 80, false),
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}

func TestPageNeedsNothingElse(t *testing.T) {
	page := htmlOf(t, examples()...)
	for _, word := range []string{"<script", "http://", "https://", "@import", "url(", "<link", "<img"} {
		if text := strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, ""); strings.Contains(text, word) {
			t.Errorf("the page has %q", word)
		}
	}
	for _, word := range []string{"<figure>", "<figcaption>", `role="img"`, `aria-label="Bars of median time.`, `<th scope="row">`, `<th scope="col">`} {
		if !strings.Contains(page, word) {
			t.Errorf("the page has no %q", word)
		}
	}
}

func htmlOf(t *testing.T, results ...runner.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHTML(&b, results); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestEveryRowIsShown holds the invariant of the package against every kind of output.
func TestEveryRowIsShown(t *testing.T) {
	for _, r := range []runner.Result{cycleResult(), oltpResult(), nothingMeasured(), manyRows(1), manyRows(12)} {
		var md bytes.Buffer
		if err := WriteMarkdown(&md, []runner.Result{r}); err != nil {
			t.Fatal(err)
		}
		page := htmlOf(t, r)
		for _, row := range r.Rows {
			if !strings.Contains(page, `<th scope="row">`+row.Name) {
				t.Errorf("%s: HTML has no row %q", r.Scenario, row.Name)
			}
			if !strings.Contains(md.String(), "| "+row.Name+" |") {
				t.Errorf("%s: Markdown has no row %q", r.Scenario, row.Name)
			}
			if row.Note != "" && (!strings.Contains(page, row.Note) || !strings.Contains(md.String(), row.Note)) {
				t.Errorf("%s: the reason of row %q is not told: %s", r.Scenario, row.Name, row.Note)
			}
		}
	}
}

// TestFailureIsTold: in every kind of output, and in the place of a conclusion.
func TestFailureIsTold(t *testing.T) {
	r := cycleResult()
	r.Failed = `check answer of case "zram": 41 rows | not 42`
	r.Rows[3] = unavailable("zram", "failed: 41 rows, not 42")
	var md, bars bytes.Buffer
	if err := errors.Join(WriteMarkdown(&md, []runner.Result{r}), Bars(&bars, &r, 80, false)); err != nil {
		t.Fatal(err)
	}
	for text, words := range map[string][]string{
		htmlOf(t, r):  {`<p class="warn">The run failed: check answer of case &#34;zram&#34;: 41 rows | not 42.`, "failed: 41 rows, not 42", "nothing is concluded"},
		md.String():   {`The run failed: check answer of case "zram": 41 rows \| not 42.`, "failed: 41 rows, not 42", "nothing is concluded"},
		bars.String(): {"failed: 41 rows, not 42"},
	} {
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("there is no %s in\n%s", word, text)
			}
		}
	}
}

// TestMeasured: a report tells of its results, and not of itself.
func TestMeasured(t *testing.T) {
	at := func(minutes int, version string) runner.Result {
		return runner.Result{Ramaria: version, Time: time.Date(2026, 11, 22, 6, minutes, 0, 0, time.UTC)}
	}
	for want, results := range map[string][]runner.Result{
		"": {{Scenario: "of before there were times"}},
		"Measured on 22 November 2026, 06:00 UTC, ramaria 1.2.3":                                            {at(0, "1.2.3"), {}, at(0, "1.2.3")},
		"Measured from 22 November 2026, 06:00 UTC to 22 November 2026, 06:09 UTC, ramaria 1.2.3 and 1.3.0": {at(9, "1.3.0"), at(0, "1.2.3"), at(1, "1.3.0")},
		"ramaria 1.2.3": {{Ramaria: "1.2.3"}},
	} {
		if got := measuredOf(results); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	none := append(examples(), upResult())
	for i := range none {
		none[i].Ramaria, none[i].Time = "", time.Time{}
	}
	if page := htmlOf(t, none...); strings.Contains(page, "Measured on") || strings.Contains(page, "<p class=\"soft measured\"") {
		t.Error("the page tells a date or a version that no result has")
	}
	old, late := upResult(), upResult()
	late.Ramaria = "1.3.0"
	page := htmlOf(t, old, late)
	for _, version := range []string{"1.2.3", "1.3.0"} {
		if !strings.Contains(page, "<dt>run</dt><dd>Measured on 22 November 2026, 06:00 UTC, ramaria "+version+"</dd>") {
			t.Errorf("the page does not say which run is that of %s", version)
		}
	}
}

// TestOurs: what is of Ramaria has a colour of its own, and nothing else has it.
func TestOurs(t *testing.T) {
	page := htmlOf(t, cycleResult(), oltpResult())
	for word, want := range map[string]bool{
		"class=\"bar ours\"": true, "class=\"bar\"": true, "class=\"line ours d": true, "class=\"line other d": true,
		"<tr class=\"ours\"><th scope=\"row\">ramaria reset</th>": true, "<tr class=\"ours\"><th scope=\"row\">stock": false,
	} {
		if strings.Contains(page, word) != want {
			t.Errorf("it is not %v that the page has %s", want, word)
		}
	}
}

// TestSVGTellsItsOrigin: a drawing that leaves its report says what it is of, where and when it was
// measured.
func TestSVGTellsItsOrigin(t *testing.T) {
	r := oltpResult()
	for _, p := range Plots(&r) {
		var svg bytes.Buffer
		if err := WriteSVG(&svg, p); err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"ransactions of sysbench oltp_read_write", "Example CPU @ 3.00GHz, 2 cores, 25.0 GB, Linux 6.18.0", "22 November 2026", "ramaria 1.2.3"} {
			if !strings.Contains(svg.String(), word) {
				t.Errorf("the drawing of %q does not say %s", p.Name, word)
			}
		}
	}
}

// TestCommands: what repeats all of it is shown whatever commands rows have.
func TestCommands(t *testing.T) {
	r := upResult()
	for i := range r.Rows {
		r.Rows[i].Command = fmt.Sprint("CLIENT < ", i/2)
	}
	var md bytes.Buffer
	if err := WriteMarkdown(&md, []runner.Result{r}); err != nil {
		t.Fatal(err)
	}
	for text, words := range map[string][]string{
		htmlOf(t, r): {"<summary>To repeat it</summary>\n<pre><code>ramaria bench up</code></pre>", "<h3>What a round does, by hand</h3>\n<p class=\"how\">stock; docker run mariadb</p>\n<pre><code>CLIENT &lt; 0</code></pre>"},
		md.String():  {"\nTo repeat it:\n\n```sh\nramaria bench up\n```\n", "\nWhat a round does, by hand, of cp -a and mariadbd; ramaria up:\n\n```sh\nCLIENT < 1\n```\n"},
	} {
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("there is no %s in\n%s", word, text)
			}
		}
		if strings.Contains(text, "lone") {
			t.Errorf("a command by hand is told as one that measures a row alone:\n%s", text)
		}
	}
}

// TestSettingsOnce: Markdown has each setting once, at the end and folded, and says which scenarios
// have it where it is not all of them.
func TestSettingsOnce(t *testing.T) {
	of := func(name string, settings map[string]string) runner.Result {
		return runner.Result{Scenario: name, Unit: runner.Seconds, Settings: settings, Rows: []runner.Row{rowWith(runner.Seconds, "stock", 1)}}
	}
	const long = "a=1, b=2, c=3"
	results := []runner.Result{
		of("cycle", map[string]string{"server": "mariadb-10.11", "ramaria's settings": long, "data": "small"}),
		of("fork", map[string]string{"server": "mariadb-10.11", "ramaria's settings": long, "data": "large"}),
		of("load", map[string]string{"server": "mariadb-10.11", "data": "small"}),
		of("load", map[string]string{"server": "mariadb-10.11"}),
	}
	var md bytes.Buffer
	if err := WriteMarkdown(&md, results); err != nil {
		t.Fatal(err)
	}
	const want = `
## Settings

<details><summary>All settings, each once</summary>

- server: mariadb-10.11
- data (cycle, load (1)): small
- data (fork): large
- ramaria's settings (cycle, fork): a=1, b=2, c=3

</details>
`
	if !strings.HasSuffix(md.String(), want) {
		t.Errorf("the page ends in\n%s", md.String()[max(0, md.Len()-len(want)):])
	}
	for _, once := range []string{long, "mariadb-10.11", "small", "large"} {
		if n := strings.Count(md.String(), once); n != 1 {
			t.Errorf("the page has %q %d times", once, n)
		}
	}
	md.Reset()
	if err := WriteMarkdown(&md, []runner.Result{of("none", nil)}); err != nil || strings.Contains(md.String(), "Settings") {
		t.Errorf("a page without settings has a section of them (%v)", err)
	}
}

// TestSameScenarioTwice wants links that lead to each, and both machines named.
func TestSameScenarioTwice(t *testing.T) {
	a, b := upResult(), upResult()
	b.Machine.CPU = "Another CPU"
	page := htmlOf(t, a, b)
	for _, word := range []string{`href="#up"`, `href="#up-2"`, `id="up"`, `id="up-2"`, `id="machine-2"`, `href="#machine-2"`, "Another CPU"} {
		if strings.Count(page, word) != 1 {
			t.Errorf("%d times %s, want it once", strings.Count(page, word), word)
		}
	}
}

func TestEscaping(t *testing.T) {
	page := htmlOf(t, awkwardResult())
	for _, word := range []string{"<b>", "<i>", "<script", "<no>", "<d>", "<k>", "ZgotmplZ"} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %s", word)
		}
	}
	r := awkwardResult()
	var md, term bytes.Buffer
	if err := errors.Join(WriteMarkdown(&md, []runner.Result{r}), Bars(&term, &r, 80, false)); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(md.String(), "\n") {
		if bars := strings.Count(line, "|") - strings.Count(line, `\|`); strings.HasPrefix(line, "|") && bars != 9 {
			t.Errorf("a line of the table has %d bars: %s", bars, line)
		}
	}
	if strings.Contains(term.String(), "\x1b") {
		t.Errorf("a name reaches the terminal with its control characters:\n%q", term.String())
	}
}

// TestSVGIsXML also holds every kind of plot against what must not be in a coordinate.
func TestSVGIsXML(t *testing.T) {
	count := rowWith(runner.Count, "one", 7, 7, 8)
	for name, r := range map[string]runner.Result{
		"cycle": cycleResult(), "oltp": oltpResult(), "awkward": awkwardResult(), "one": manyRows(1), "twelve": manyRows(12),
		"count":     {Unit: runner.Count, Rows: []runner.Row{count}},
		"zeros":     {Unit: runner.Seconds, Rows: []runner.Row{rowWith(runner.Seconds, "zero", 0, 0), rowWith(runner.Seconds, "one", 1)}},
		"infinite":  {Unit: runner.Seconds, Rows: []runner.Row{rowWith(runner.Seconds, "inf", math.Inf(1), 1, 2), rowWith(runner.Seconds, "one", 1)}},
		"one point": {Unit: runner.Seconds, Rows: []runner.Row{{Name: "p", Series: "s", X: 3, Samples: []float64{1}, Rounds: 1, Stats: runner.Summarise(runner.Seconds, []float64{1})}}},
	} {
		for _, p := range Plots(&r) {
			for _, f := range []figure{wide(p), narrow(p)} {
				f.Alone = true
				var b bytes.Buffer
				if err := templates().ExecuteTemplate(&b, "plot.svg.tmpl", f); err != nil {
					t.Fatal(err)
				}
				for dec := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
					if _, err := dec.Token(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
				}
				for _, word := range []string{"NaN", "Inf", "ZgotmplZ", `width="-`} {
					if strings.Contains(b.String(), word) {
						t.Errorf("%s: the plot has %s", name, word)
					}
				}
			}
		}
	}
}

func TestPlots(t *testing.T) {
	for name, c := range map[string]struct {
		result runner.Result
		names  []string
	}{
		"bars":         {cycleResult(), []string{""}},
		"lines":        {oltpResult(), []string{"", "p99 latency"}},
		"nothing":      {nothingMeasured(), nil},
		"no rows":      {runner.Result{}, nil},
		"no ratio yet": {runner.Result{Rows: []runner.Row{{Name: "a"}}}, nil},
	} {
		var names []string
		for _, p := range Plots(&c.result) {
			names = append(names, p.Name)
		}
		if diff := cmp.Diff(c.names, names); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEmptyResults(t *testing.T) {
	none := runner.Result{Scenario: "none", Title: "no rows at all", Unit: runner.Seconds}
	var b bytes.Buffer
	if err := errors.Join(WriteMarkdown(&b, nil), WriteMarkdown(&b, []runner.Result{none}), Bars(&b, &none, 80, true)); err != nil {
		t.Fatal(err)
	}
	if page := htmlOf(t, none); !strings.Contains(page, "Nothing was measured.") {
		t.Error("the page does not say that nothing was measured")
	}
	if page := htmlOf(t); !strings.Contains(page, "There are no results.") {
		t.Error("the page does not say that there are no results")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrorsAreReported(t *testing.T) {
	r := cycleResult()
	for name, err := range map[string]error{
		"html":     WriteHTML(brokenPipe{}, examples()),
		"svg":      WriteSVG(brokenPipe{}, Plots(&r)[0]),
		"markdown": WriteMarkdown(brokenPipe{}, examples()),
		"bars":     Bars(brokenPipe{}, &r, 80, false),
	} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
