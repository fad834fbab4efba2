package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"
)

// SchemaVersion is the version of the JSON lines. It grows when a field changes
// its meaning or goes; a new field does not change it.
const SchemaVersion = 1

// settingRow is the setting in a line that is of its row alone.
const settingRow = "row"

// line is one row in the raw results. Numbers are in the unit, never rounded;
// or null.
type line struct {
	Schema      int               `json:"schema"`
	Scenario    string            `json:"scenario"`
	Row         string            `json:"row"`
	Unit        Unit              `json:"unit"`
	Median      *float64          `json:"median"`
	P99         *float64          `json:"p99"`
	Min         *float64          `json:"min"`
	Max         *float64          `json:"max"`
	IQR         *float64          `json:"iqr"`
	Ratio       *float64          `json:"ratio"`
	Base        string            `json:"base,omitempty"`
	Series      string            `json:"series,omitempty"`
	X           *float64          `json:"x,omitempty"`
	XName       string            `json:"x_name,omitempty"`
	Panel       string            `json:"panel,omitempty"`
	Ours        *bool             `json:"ours,omitempty"`
	Beside      []lineMeasure     `json:"beside,omitempty"`
	Title       string            `json:"title"`
	Command     string            `json:"command,omitempty"`
	RowCommand  string            `json:"row_command,omitempty"`
	Conclusion  string            `json:"conclusion,omitempty"`
	Rounds      int               `json:"rounds"`
	Samples     []float64         `json:"samples"`
	Note        string            `json:"note,omitempty"`
	Interrupted bool              `json:"interrupted,omitempty"`
	Failed      string            `json:"failed,omitempty"`
	Ramaria     string            `json:"ramaria,omitempty"`
	Time        time.Time         `json:"time,omitzero"`
	Settings    map[string]string `json:"settings"`
	Machine     Machine           `json:"machine"`
}

// WriteJSON writes one JSON object a row, each complete in itself, so that files
// of many runs can be concatenated. The setting "row" is that of the row alone.
func (r *Result) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, row := range r.Rows {
		l := line{
			Schema: SchemaVersion, Scenario: r.Scenario, Row: row.Name, Unit: r.Unit,
			Median: number(row.Median), P99: number(row.P99), Min: number(row.Min), Max: number(row.Max),
			IQR: number(row.IQR), Ratio: number(row.Ratio), Base: row.Base, Rounds: row.Rounds, Samples: row.Samples,
			Series: row.Series, XName: r.XName, Panel: row.Panel, Beside: besideOf(r.Beside, row), Title: r.Title, Command: r.Command, RowCommand: row.Command, Conclusion: r.Conclusion,
			Note: row.Note, Interrupted: r.Interrupted, Failed: r.Failed, Ramaria: r.Ramaria, Time: r.Time, Settings: r.settingsOf(row), Machine: r.Machine,
		}
		if row.Ours || namesRamaria(row.Name) { // see line.ours
			l.Ours = &row.Ours
		}
		if row.Series != "" {
			l.X = &row.X
		}
		if err := enc.Encode(l); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	return nil
}

// lineMeasure is the median of a further measure.
type lineMeasure struct {
	Name   string  `json:"name"`
	Unit   Unit    `json:"unit"`
	Median float64 `json:"median"`
}

func besideOf(measures []Measure, row Row) []lineMeasure {
	var list []lineMeasure
	for _, m := range measures {
		// Numbers that JSON cannot express are left out, so that the rest of the row is written.
		if v, told := row.Beside[m.Name]; told && number(v) != nil {
			list = append(list, lineMeasure{m.Name, m.Unit, v})
		}
	}
	return list
}

func (r *Result) settingsOf(row Row) map[string]string {
	all := make(map[string]string, len(r.Settings)+1)
	for k, v := range r.Settings {
		all[k] = v
	}
	if row.Settings != "" {
		all[settingRow] = row.Settings
	}
	return all
}

// number returns nil for what JSON cannot express.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
