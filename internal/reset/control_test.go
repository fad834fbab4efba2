package reset_test

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestControl breaks what a reset does, in one way after the other: the comparison by
// which all tests here judge must see each.
func TestControl(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		dirty := "INSERT INTO visit VALUES ('2020-02-02', 1)\nUPDATE visit SET who = 9 WHERE who = 3\nDELETE FROM plain WHERE id = 2\nINSERT INTO counted (a) VALUES (7)"
		for name, sabotage := range map[string]func(p *reset.Plan){
			"nothing":       nil,
			"first dropped": func(p *reset.Plan) { p.Undo = p.Undo[1:] },
			"last dropped":  func(p *reset.Plan) { p.Undo = p.Undo[:len(p.Undo)-1] },
			"all dropped":   func(p *reset.Plan) { p.Undo = nil },
			"table forgotten": func(p *reset.Plan) {
				p.Undo = nil
				delete(p.NeedsRefill, "visit")
			},
		} {
			t.Run(name, func(t *testing.T) {
				le.t, l.t = t, t
				le.do(dirty)
				plan := reset.Make(l.Journal.Take(le.Name), l.shape, l.srv.LogsCascades())
				if plan.Way != reset.Undo || len(plan.Undo) < 4 {
					t.Fatalf("the plan is %s", plan)
				}
				if sabotage != nil {
					sabotage(&plan)
				}
				if err := l.Apply(t.Context(), l.session, &le.Database, &plan); err != nil {
					t.Fatal(err)
				}
				seen := differences(le.asFresh, le.state()) != ""
				if seen == (sabotage == nil) {
					t.Errorf("seen by the state: %v", seen)
				}
				if seen := le.fresh != le.dump(); seen == (sabotage == nil) {
					t.Errorf("seen by the dump: %v", seen)
				}
				l.Journal.Invalidate(le.Name, "a test broke it")
				le.reset()
			})
		}
	})
}
