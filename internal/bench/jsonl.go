package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// SchemaVersion is the version of the JSON lines. It grows when a field changes
// its meaning or goes; a new field does not change it.
const SchemaVersion = 1

// line is one row in the raw results. Numbers are in the unit, never rounded;
// null where there is none.
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
	Rounds      int               `json:"rounds"`
	Samples     []float64         `json:"samples"`
	Note        string            `json:"note,omitempty"`
	Interrupted bool              `json:"interrupted,omitempty"`
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
			Note: row.Note, Interrupted: r.Interrupted, Settings: r.settingsOf(row), Machine: r.Machine,
		}
		if err := enc.Encode(l); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	return nil
}

func (r *Result) settingsOf(row Row) map[string]string {
	all := make(map[string]string, len(r.Settings)+1)
	for k, v := range r.Settings {
		all[k] = v
	}
	if row.Settings != "" {
		all["row"] = row.Settings
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
