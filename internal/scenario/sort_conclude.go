package scenario

import (
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench"
)

// fullyBusy is the part of the processors from which on they are told to bound a row: its
// sessions begin and end apart, and wait for each other's turns.
const fullyBusy = 0.8

// busy is the part that a row used of the processors that it could: those of the machine, or
// one for each session of the server.
func (o *sorting) busy(q sortQuery, r *bench.Row) float64 {
	took := float64(sortThreads*o.asked(q)) / r.Median
	return min(1, max(r.Beside[serverCPU]/(took*sortThreads), r.Beside[coresBusy]/float64(runtime.NumCPU())))
}

// conclude says what the places give against the first, and whether that one waits for its
// device: it does if files reach it, and the same work is faster with them in RAM, beyond noise.
// Where nobody counted what is written there is no cause to tell. How busy
// the processors are is told, but proves nothing on a machine that has other work.
func (o *sorting) conclude(r *bench.Result) string {
	var parts []string
	for i, q := range sortQueries {
		rows := r.Rows[i*len(o.places):][:len(o.places)]
		if s := o.concludeQuery(r, q, rows); s != "" {
			parts = append(parts, q.name+": "+s)
		}
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, ". ") + "."
}

func (o *sorting) concludeQuery(r *bench.Result, q sortQuery, rows []bench.Row) string {
	first := &rows[0]
	if math.IsNaN(first.Median) {
		return ""
	}
	said := []string{fmt.Sprintf("%s has the processors %.0f %% busy", o.places[0].where, 100*o.busy(q, first))}
	inRAM, gained := false, false
	for i := range rows[1:] {
		p, row := o.places[i+1], &rows[i+1]
		if math.IsNaN(row.Ratio) {
			continue
		}
		said = append(said, fmt.Sprintf("%s %.2f times the rows, %.0f %% busy", p.where, row.Ratio, 100*o.busy(q, row)))
		if p.inRAM() {
			inRAM, gained = true, gained || r.Gains(row)
		}
	}
	s := strings.Join(said, "; ")
	if !inRAM || o.places[0].inRAM() {
		return s
	}
	const nothing = ": RAM gains nothing that stands out from the noise"
	bytes, known := first.Beside[bench.Written]
	// Others write too, and some of the files of a sort would be reached by chance.
	wrote := bytes > float64(sortThreads*o.asked(q)*sortRowBytes)/4
	switch {
	case gained && !known:
		return s // and why is not known
	case gained && wrote:
		return s + ": the device holds it back"
	case gained:
		return s + ": hardly anything is written to the device, so what RAM gains is the work of the file system"
	case !known:
		return s + nothing
	case wrote:
		return s + nothing + ", though the device is written to"
	case o.busy(q, first) >= fullyBusy:
		return s + nothing + ", the page cache holds the files and the processors bound it"
	}
	return s + nothing + ", the page cache holds the files"
}
