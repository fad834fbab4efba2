package runner

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Limits of ReadJSON, so that a wrong file cannot fill the memory.
const (
	// MaxLine is the length of a line, in bytes: of a row with three million samples.
	MaxLine = 64 << 20
	// MaxRows is the number of rows in a file.
	MaxRows = 100_000
)

// hintResults ends errors about files that are something else.
const hintResults = "\nhint: ramaria bench --format json writes results, one JSON object a line"

// ReadJSON reads what WriteJSON wrote, also of many runs one after the other. Rows
// that follow each other make one Result as long as scenario, title, unit, time, version,
// settings and machine stay the same and no name comes twice. Statistics are computed again
// where there are samples; all else is taken as it is written. Fields that it does
// not know are passed over; a schema that is newer than SchemaVersion is an error.
func ReadJSON(r io.Reader) ([]Result, error) { return readLines(r, MaxLine, MaxRows) }

func readLines(r io.Reader, maxLine, maxRows int) ([]Result, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var all []*reading
	at, rows := 0, 0
	for lines.Scan() {
		at++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		l, err := parseLine(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", at, err)
		}
		if rows++; rows > maxRows {
			return nil, fmt.Errorf("line %d: more than %d rows\nhint: split the file", at, maxRows)
		}
		if len(all) == 0 || !all[len(all)-1].takes(l) {
			all = append(all, newReading(l))
		}
		all[len(all)-1].add(l)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: longer than %d bytes%s", at+1, maxLine, hintResults)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", at+1, err)
	}
	results := make([]Result, len(all))
	for i, one := range all {
		results[i] = one.done()
	}
	return results, nil
}

// parseLine reads one row. The schema comes first: of a newer one, nothing else is sure.
func parseLine(text []byte) (line, error) {
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return line{}, fmt.Errorf("it is not a result in JSON (%w)%s", err, hintResults)
	}
	switch {
	case version.Schema > SchemaVersion:
		return line{}, fmt.Errorf("schema %d is newer than %d, the newest that this ramaria reads\nhint: use the ramaria that wrote it, or a newer one", version.Schema, SchemaVersion)
	case version.Schema < 1:
		return line{}, errors.New("there is no field schema of 1 or above" + hintResults)
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return line{}, fmt.Errorf("it is not a result in JSON (%w)%s", err, hintResults)
	}
	switch {
	case l.Scenario == "" || l.Row == "" || l.Unit == "":
		return line{}, errors.New("one of scenario, row and unit is missing" + hintResults)
	case l.Rounds < 0:
		return line{}, fmt.Errorf("row %q has %d rounds", l.Row, l.Rounds)
	}
	names := map[string]bool{}
	for _, m := range l.Beside {
		if m.Name == "" || names[m.Name] {
			return line{}, fmt.Errorf("row %q tells %q beside twice, or without a name", l.Row, m.Name)
		}
		names[m.Name] = true
	}
	return l, nil
}

// reading is a Result that rows are still added to.
type reading struct {
	result Result
	names  map[string]bool
	beside [][]Measure // those of the rows, in their order; each list once
	units  map[string]Unit
	// commands are those of the lines, in their order.
	commands []string
}

func newReading(l line) *reading {
	settings := maps.Clone(l.Settings)
	delete(settings, settingRow)
	return &reading{
		result: Result{
			Scenario: l.Scenario, Title: l.Title, Unit: l.Unit, Settings: settings, Machine: l.Machine,
			XName: l.XName, Conclusion: l.Conclusion, Interrupted: l.Interrupted, Failed: l.Failed, Ramaria: l.Ramaria, Time: l.Time,
		},
		names: map[string]bool{}, units: map[string]Unit{},
	}
}

// takes tells whether a row is one more of this result.
func (g *reading) takes(l line) bool {
	r := &g.result
	settings := maps.Clone(l.Settings)
	delete(settings, settingRow)
	if g.names[l.Row] || l.Scenario != r.Scenario || l.Title != r.Title || l.Unit != r.Unit || l.XName != r.XName ||
		l.Conclusion != r.Conclusion || l.Interrupted != r.Interrupted || l.Failed != r.Failed || l.Ramaria != r.Ramaria || !l.Time.Equal(r.Time) ||
		!maps.Equal(settings, r.Settings) || !reflect.DeepEqual(l.Machine, r.Machine) {
		return false
	}
	for _, m := range l.Beside {
		if u, told := g.units[m.Name]; told && u != m.Unit {
			return false
		}
	}
	return true
}

func (g *reading) add(l line) {
	row := Row{
		Name: l.Row, Settings: l.Settings[settingRow], Base: l.Base, Series: l.Series, Panel: l.Panel, Ours: l.ours(), Command: l.RowCommand,
		Rounds: l.Rounds, Samples: l.Samples, Note: l.Note, Ratio: value(l.Ratio),
	}
	if l.X != nil && l.Series != "" {
		row.X = *l.X
	}
	if len(l.Samples) > 0 {
		row.Stats = Summarise(l.Unit, l.Samples)
	} else {
		row.Stats = Stats{Median: value(l.Median), P99: value(l.P99), Min: value(l.Min), Max: value(l.Max), IQR: value(l.IQR)}
		if l.Median != nil {
			row.Count = l.Rounds // most rounds give one sample
		}
	}
	var measures []Measure
	for _, m := range l.Beside {
		if row.Beside == nil {
			row.Beside = map[string]float64{}
		}
		row.Beside[m.Name] = m.Median
		g.units[m.Name] = m.Unit
		measures = append(measures, Measure{m.Name, m.Unit})
	}
	if !slices.ContainsFunc(g.beside, func(l []Measure) bool { return slices.Equal(l, measures) }) {
		g.beside = append(g.beside, measures)
	}
	g.names[l.Row] = true
	g.commands = append(g.commands, l.Command)
	g.result.Rows = append(g.result.Rows, row)
}

// ours says whether the row is of Ramaria. Older files have rows that say it by their names alone.
func (l *line) ours() bool {
	if l.Ours == nil {
		return namesRamaria(l.Row)
	}
	return *l.Ours
}

func namesRamaria(row string) bool { return strings.Contains(row, "ramaria") }

// done finds what the rows have in common: lines tell only those measures that their row has. Where
// they do not agree on the command, as before there was row_command, it is that of the row.
func (g *reading) done() Result {
	r := g.result
	r.Beside = mergeMeasures(g.beside)
	if len(slices.Compact(slices.Clone(g.commands))) == 1 {
		r.Command = g.commands[0]
		return r
	}
	for i := range r.Rows {
		r.Rows[i].Command = cmp.Or(r.Rows[i].Command, g.commands[i])
	}
	return r
}

// mergeMeasures makes one list that has every measure once and keeps the order of all
// lists, if there is such an order, so that rows are written as they were read.
func mergeMeasures(lists [][]Measure) []Measure {
	lists = slices.Clone(lists)
	var merged []Measure
	for {
		lists = slices.DeleteFunc(lists, func(l []Measure) bool { return len(l) == 0 })
		if len(lists) == 0 {
			return merged
		}
		next := lists[0][0]
		for _, l := range lists {
			if !slices.ContainsFunc(lists, func(other []Measure) bool { return slices.Contains(other[1:], l[0]) }) {
				next = l[0]
				break
			}
		}
		merged = append(merged, next)
		for i, l := range lists {
			// Where there is no common order, it may stand further back.
			lists[i] = slices.DeleteFunc(slices.Clone(l), func(m Measure) bool { return m == next })
		}
	}
}

// value is the reverse of number.
func value(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
