package runner

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// csvHead are the columns of WriteCSV, named as in the JSON lines.
var csvHead = []string{"scenario", "row", "unit", "median", "p99", "min", "max", "iqr", "ratio", "base", "series", "x", "rounds", "note"}

// WriteCSV writes a line a row, for a spreadsheet, after one of names if head says so: RFC 4180,
// numbers in the unit, never rounded; a missing number is an empty field.
func (r *Result) WriteCSV(w io.Writer, head bool) error {
	lines := csv.NewWriter(w)
	var rows [][]string
	if head {
		rows = append(rows, csvHead)
	}
	for _, row := range r.Rows {
		x := ""
		if row.Series != "" {
			x = plainNumber(row.X)
		}
		rows = append(rows, []string{
			r.Scenario, row.Name, string(r.Unit), plainNumber(row.Median), plainNumber(row.P99), plainNumber(row.Min), plainNumber(row.Max),
			plainNumber(row.IQR), plainNumber(row.Ratio), row.Base, row.Series, x, strconv.Itoa(row.Rounds), row.Note,
		})
	}
	if err := lines.WriteAll(rows); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

func plainNumber(v float64) string {
	if number(v) == nil {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
