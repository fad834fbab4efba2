package reset

import "github.com/ramaria-db/ramaria/internal/binlog"

// stage keeps a change. Of a transaction with more than maxTable of images the table that goes beyond has none kept, so that
// the memory that is taken does not follow the transactions that there are.
func (g *group) stage(m *binlog.TableMap, r binlog.Rows) {
	name := m.Schema + "." + m.Table
	if !g.large[name] && g.bytes+r.Size() > maxTable {
		if g.large == nil {
			g.large = map[string]bool{}
		}
		g.large[name] = true
		for i := range g.staged {
			if s := &g.staged[i]; s.Map.Schema == m.Schema && s.Map.Table == m.Table {
				g.bytes -= s.Rows.Size()
				s.Rows = binlog.Rows{}
			}
		}
	}
	change := binlog.Change{Map: m}
	if !g.large[name] {
		change.Rows = r.Clone()
		g.bytes += r.Size()
	}
	g.staged = append(g.staged, change)
}
