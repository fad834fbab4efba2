package scenario

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench"
)

// conclude says what RAM gains, what the slowest transactions take, and what a device that
// writes pages atomically would gain, all with one number of threads.
func (o *oltp) conclude(r *bench.Result) string {
	var parts []string
	for _, part := range []string{o.concludeRAM(r), o.concludeTail(r), o.concludeTrust(r)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if parts == nil {
		return ""
	}
	return "With " + threadsOf(o.told) + ": " + strings.Join(parts, "; ") + "."
}

func threadsOf(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// oltpPools are the large one and the small one, in words.
var oltpPools = []struct {
	large bool
	where string
}{{true, ""}, {false, "with the small pool "}}

// rows are those of a pool that the conclusion speaks of and that wanted wants.
func (o *oltp) rows(r *bench.Result, large bool, wanted func(oltpPoint) bool) (list []*bench.Row) {
	for i, p := range o.points {
		row := &r.Rows[i]
		if p.large == large && p.threads == o.told && p.oltpServer != p.base && !math.IsNaN(row.Ratio) && wanted(p) {
			list = append(list, row)
		}
	}
	return list
}

func (o *oltp) concludeRAM(r *bench.Result) string {
	var parts []string
	for _, pool := range oltpPools {
		rows := o.rows(r, pool.large, func(p oltpPoint) bool { return p.inRAM() && !p.base.inRAM() })
		if rows == nil {
			continue
		}
		has := fmt.Sprintf("has %.2f times the transactions of %s", rows[0].Ratio, strings.TrimSuffix(r.BaseOf(rows[0]).Series, smallPoolSuffix))
		part := pool.where
		if !slices.ContainsFunc(rows, r.Gains) {
			part += "RAM gains nothing that stands out from the noise: "
		}
		for i, row := range rows {
			if i > 0 {
				part, has = part+"; ", fmt.Sprintf("%.2f times", row.Ratio)
			}
			part += strings.TrimSuffix(row.Series, smallPoolSuffix) + " " + has
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// concludeTail tells the latency of all servers with the large pool.
func (o *oltp) concludeTail(r *bench.Result) string {
	var list []string
	for i, p := range o.points {
		p99, told := r.Rows[i].Beside[tailLatency]
		if p.large && p.threads == o.told && told {
			list = append(list, r.Rows[i].Series+" "+bench.Seconds.Format(p99))
		}
	}
	if list == nil {
		return ""
	}
	return "99 % of the transactions take at most: " + strings.Join(list, ", ")
}

func (o *oltp) concludeTrust(r *bench.Result) string {
	var list []string
	gained := false
	for _, pool := range oltpPools {
		for _, row := range o.rows(r, pool.large, func(p oltpPoint) bool { return p.trusting && !p.unsummed }) {
			list = append(list, fmt.Sprintf("%s%.2f times", pool.where, row.Ratio))
			gained = gained || r.Gains(row)
		}
	}
	if list == nil {
		return ""
	}
	s := "the disk without the doublewrite buffer has " + strings.Join(list, ", ") + " as many as with it"
	if !gained {
		s += ", which gains nothing that stands out from the noise"
	}
	return s
}
