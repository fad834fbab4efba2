package report

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// section is one result, as its readers see it: what HTML and Markdown have in common.
type section struct {
	ID          string // of the heading: the name of the scenario, a number behind it if it comes again
	Name, Title string
	Conclusion  string
	Machine     int // which of several machines, from 1; 0 if there is but one
	Interrupted bool
	Failed      string // why it ended early, as a sentence without its end
	Run         string // when and by which ramaria, where the report is of several runs
	Settings    []pair
	Plots       []Plot
	Once        *onceTable // nil for none
	Columns     []string   // after that of the row's name
	Rows        []tableRow
	Bases       []string
	Command     string // that repeats all of it
	Alone       []repeat
	ByHand      []repeat
}

// onceTable is what is told once of each Series.
type onceTable struct {
	Columns []string
	Rows    []onceRow
}

type onceRow struct {
	Name  string
	Ours  bool
	Cells []string
}

func onceTableOf(r *runner.Result) *onceTable {
	var t *onceTable
	for _, p := range pivotsOf(r) {
		if p.by != "" {
			continue
		}
		t = &onceTable{Columns: p.columns}
		for _, row := range p.rows {
			ours := slices.ContainsFunc(r.Rows, func(in runner.Row) bool { return in.Series == row[0] && in.Ours })
			t.Rows = append(t.Rows, onceRow{row[0], ours, row[1:]})
		}
	}
	return t
}

type pair struct{ Name, Value string }

// tableRow is a line of the table.
type tableRow struct {
	Name, Settings string
	Series         string // "" for none
	Base           bool   // the row that the others are compared with
	Ours           bool   // it is of Ramaria
	Note           string // why there are no figures, or what is to be said of them
	Cells          []string
}

// Measured says whether there is a figure.
func (r tableRow) Measured() bool { return r.Cells != nil }

// Main are the columns that everybody wants, by their numbers.
func (s section) Main() []int { return []int{columnMedian, columnRatio, columnP99, columnSpread} }

// Stated are the settings of the rows alone, by the names of the rows; those that a whole curve has, by its
// name.
func (s section) Stated() []pair {
	var list []pair
	for _, r := range s.Rows {
		name := r.Name
		if r.Series != "" && !slices.ContainsFunc(s.Rows, func(o tableRow) bool { return o.Series == r.Series && o.Settings != r.Settings }) {
			name = r.Series
		}
		if stated := (pair{name, r.Settings}); r.Settings != "" && !slices.Contains(list, stated) {
			list = append(list, stated)
		}
	}
	return list
}

// repeat is a command and the rows that it is of.
type repeat struct {
	Rows    []string
	Command string
}

// sectionsOf prepares results; machines are the different ones that they were measured on.
func sectionsOf(results []runner.Result) (sections []section, machines []runner.Machine) {
	seen, runs := map[string]int{}, map[string]int{}
	for i := range results {
		runs[results[i].Scenario]++
	}
	for i := range results {
		r := &results[i]
		s := section{
			ID: slug(r.Scenario), Name: r.Scenario, Title: opening(r.Title), Conclusion: opening(Conclusion(r)), Interrupted: r.Interrupted, Failed: clean(r.Failed),
			Plots: Plots(r), Once: onceTableOf(r), Columns: columnsOf(r), Bases: r.Bases(), Command: r.Command, Alone: commandsOf(r, false), ByHand: commandsOf(r, true),
		}
		if seen[s.ID]++; seen[s.ID] > 1 {
			s.ID = fmt.Sprintf("%s-%d", s.ID, seen[s.ID])
		}
		for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
			s.Settings = append(s.Settings, pair{name, r.Settings[name]})
		}
		if runs[r.Scenario] > 1 || len(versionsOf(results)) > 1 {
			s.Run = measuredOf(results[i : i+1])
		}
		for j, row := range r.Rows {
			s.Rows = append(s.Rows, rowOf(r, row, j == 0))
		}
		s.Machine = 1 + slices.IndexFunc(machines, func(m runner.Machine) bool { return reflect.DeepEqual(m, r.Machine) })
		if s.Machine == 0 && !reflect.DeepEqual(r.Machine, runner.Machine{}) {
			machines = append(machines, r.Machine)
			s.Machine = len(machines)
		}
		sections = append(sections, s)
	}
	if len(machines) == 1 {
		for i := range sections {
			sections[i].Machine = 0
		}
	}
	return sections, machines
}

// opening begins a sentence or a heading with a capital, but for the name of the program.
func opening(sentence string) string {
	if strings.HasPrefix(sentence, "ramaria ") {
		return sentence
	}
	return upperFirst(sentence)
}

// slug makes an id for a link out of a name.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return cmp.Or(strings.Join(words, "-"), "scenario")
}

// Places in the list of columnsOf.
const (
	columnMedian = 0
	columnRatio  = 1
	columnP99    = 2
	columnSpread = 5
)

func columnsOf(r *runner.Result) []string {
	columns := []string{"median", "ratio", "p99", "min", "max", "spread", "rounds"}
	for _, m := range r.Beside {
		columns = append(columns, m.Name)
	}
	return columns
}

func rowOf(r *runner.Result, row runner.Row, base bool) tableRow {
	t := tableRow{Name: row.Name, Settings: row.Settings, Series: row.Series, Base: base, Ours: row.Ours, Note: row.Note}
	if row.Count == 0 {
		t.Note = noteOf(row)
		return t
	}
	f := r.Unit.Format
	t.Cells = []string{f(row.Median), runner.FormatRatio(row.Ratio), f(row.P99), f(row.Min), f(row.Max), f(row.IQR), runner.FormatRounds(row)}
	for _, m := range r.Beside {
		cell := "-"
		if v, told := row.Beside[m.Name]; told {
			cell = m.Unit.Format(v)
		}
		t.Cells = append(t.Cells, cell)
	}
	return t
}

// commandsOf lists what rows have beside the command that repeats all of it, each once, in the
// order of the rows.
func commandsOf(r *runner.Result, byHand bool) []repeat {
	var list []repeat
	for _, row := range r.Rows {
		if row.Command == "" || row.ByHand() != byHand {
			continue
		}
		i := slices.IndexFunc(list, func(c repeat) bool { return c.Command == row.Command })
		if i < 0 {
			i = len(list)
			list = append(list, repeat{Command: row.Command})
		}
		list[i].Rows = append(list[i].Rows, row.Name)
	}
	return list
}
