package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/ramaria-db/ramaria/internal/bench/report"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// The formats of results.
const (
	formatTable    = "table"
	formatJSON     = "json"
	formatMarkdown = "md"
	formatCSV      = "csv" // of results, not of comparisons
)

// checkFormat returns an error for a format that is none: of the usual, and of more.
func checkFormat(format string, more ...string) error {
	formats := append([]string{formatTable, formatJSON, formatMarkdown}, more...)
	if !slices.Contains(formats, format) {
		return fmt.Errorf("use format %q: there are %s\nhint: --format json", format, strings.Join(formats, ", "))
	}
	return nil
}

// benchOutput says where results go.
type benchOutput struct {
	format string
	// save, report and plots are paths, "" for none: of a file of JSON lines, of a file of
	// HTML, and of a directory.
	save, report, plots string
}

func (o *benchOutput) flags(f *pflag.FlagSet) {
	f.StringVar(&o.format, "format", formatTable, "table, json (lines), csv or md")
	f.StringVar(&o.report, "report", "", "write a report to `FILE` as well, one page of HTML with plots")
	f.StringVar(&o.plots, "plots", "", "write the plots to `DIR` as well, as SVG")
}

func (o *benchOutput) saveFlag(f *pflag.FlagSet) {
	f.StringVar(&o.save, "save", "", "write the raw results to `FILE` as well, as JSON lines")
}

// benchWriter writes results as they come, and at the end what is about all of them.
type benchWriter struct {
	benchOutput
	app     *app
	results []runner.Result
	saved   *draft // nil for none
	paged   *draft
	// worth says that there is a result that may take the place of an older one.
	worth bool
}

// open begins the files, before anything is measured for them.
func (o benchOutput) open(a *app) (_ *benchWriter, err error) {
	w := &benchWriter{benchOutput: o, app: a}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if o.save != "" {
		if w.saved, err = newDraft(o.save, w.mode()); err != nil {
			return nil, fmt.Errorf("save results: %w", err)
		}
		// If the bench is killed, or runs out of memory, after an hour, the finished scenarios are
		// there.
		if name := w.saved.partly(); name != "" {
			a.say("results are in %s until the end", name)
		}
	}
	if o.report != "" {
		if w.paged, err = newDraft(o.report, w.mode()); err != nil {
			return nil, fmt.Errorf("write report: %w", err)
		}
	}
	if info, err := os.Stat(o.plots); o.plots != "" && err == nil && !info.IsDir() {
		return nil, fmt.Errorf("write plots: %s is no directory\nhint: --plots DIR", o.plots)
	}
	return w, nil
}

func (w *benchWriter) mode() fs.FileMode { return 0o666 &^ w.app.callersUmask() }

// begin writes what comes before the results.
func (w *benchWriter) begin(machine runner.Machine) error {
	if w.format != formatTable {
		return nil
	}
	return machine.Write(w.app.stdout)
}

// result writes one result, as soon as it is there.
func (w *benchWriter) result(r runner.Result) error {
	w.results = append(w.results, r)
	w.worth = w.worth || r.Failed == "" || r.Measured()
	var errs []error
	if w.saved != nil {
		if err := r.WriteJSON(w.saved.f); err != nil {
			errs = append(errs, w.unsaved(err))
		}
	}
	switch w.format {
	case formatJSON:
		errs = append(errs, r.WriteJSON(w.app.stdout))
	case formatCSV:
		errs = append(errs, r.WriteCSV(w.app.stdout, len(w.results) == 1))
	case formatTable:
		errs = append(errs, w.table(&r))
	}
	return errors.Join(errs...)
}

// unsaved ends the saving of results that could not be written, and says where those before are.
func (w *benchWriter) unsaved(err error) error {
	d, hint := w.saved, ""
	if name := d.partly(); name != "" {
		hint = "\nhint: what was saved until then is in " + name
	}
	w.saved = nil
	return fmt.Errorf("%w%s", errors.Join(err, d.leave()), hint)
}

// table writes a result for people: bars, figures, a sentence.
func (w *benchWriter) table(r *runner.Result) error {
	out := w.app.stdout
	width, color := report.LeastWidth, false
	if f, ok := out.w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		color = true
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			width = columns
		}
	}
	fmt.Fprintln(out)
	if err := r.WriteTable(out, runner.TableOptions{Color: color}); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if err := report.Bars(out, r, width, color); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, report.Conclusion(r))
	return err
}

// end writes what is about all results, and has the files appear if they hold any.
func (w *benchWriter) end() error {
	var errs []error
	if w.format == formatMarkdown {
		errs = append(errs, report.WriteMarkdown(w.app.stdout, w.results))
	}
	if w.worth {
		errs = append(errs, w.keep())
	}
	return errors.Join(append(errs, w.close())...)
}

// keep finishes the files, one after the other, and says so.
func (w *benchWriter) keep() error {
	var errs []error
	kept := func(path string, err error) {
		if err == nil {
			fmt.Fprintf(w.app.stderr, "wrote %s\n", path)
		}
		errs = append(errs, err)
	}
	if w.paged != nil {
		kept(w.report, w.page())
	}
	if w.saved != nil {
		kept(w.save, w.saved.keep())
	}
	if w.plots != "" {
		kept(w.plots, w.draw())
	}
	return errors.Join(errs...)
}

func (w *benchWriter) page() error {
	if err := report.WriteHTML(w.paged.f, w.results); err != nil {
		return err
	}
	return w.paged.keep()
}

// draw writes each plot to a file of its own.
func (w *benchWriter) draw() error {
	if err := os.MkdirAll(w.plots, 0o777&^w.app.callersUmask()); err != nil {
		return fmt.Errorf("write plots: %w", err)
	}
	times := map[string]int{}
	for i := range w.results {
		r := &w.results[i]
		for _, p := range report.Plots(r) {
			name := r.Scenario + ".svg"
			if times[r.Scenario]++; times[r.Scenario] > 1 {
				name = fmt.Sprintf("%s-%d.svg", r.Scenario, times[r.Scenario])
			}
			if err := w.drawOne(filepath.Join(w.plots, name), p); err != nil {
				return fmt.Errorf("write plots: %w", err)
			}
		}
	}
	return nil
}

func (w *benchWriter) drawOne(path string, p report.Plot) error {
	d, err := newDraft(path, w.mode())
	if err != nil {
		return err
	}
	if err := report.WriteSVG(d.f, p); err != nil {
		return errors.Join(err, d.drop())
	}
	return d.keep()
}

// close drops what was not kept. It may be called more than once.
func (w *benchWriter) close() error { return errors.Join(w.saved.drop(), w.paged.drop()) }
