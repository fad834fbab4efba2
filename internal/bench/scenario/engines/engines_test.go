package engines

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

func TestEnginesOnRealServers(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := labtest.Real(t, want)
		l.Options.Scale = 0.02
		rows := labtest.RunSmall(t, Scenario(l))
		labtest.SaysMedium(t, rows)
		if n := len(engineWorks) * len((&engines{lab: l}).names()); len(rows) != n {
			t.Errorf("%d rows, want %d", len(rows), n)
		}
		labtest.LeavesNothing(t, l, "engines-*")
	})
}

// TestEnginesMustAgree: an engine that has another row fails the check of every query.
func TestEnginesMustAgree(t *testing.T) {
	l := labtest.Real(t, os.Getenv(servertest.EnvServer))
	l.Options = lab.Options{Scale: 0.01, Places: []string{lab.PlaceRAMByHand}}
	o := newEngines(l)
	s := o.scenario()
	labtest.AtEnd(t, s.Cases[0])
	inno, memory := o.tables[0], o.tables[1]
	check := func(e *engine, w engineWork) error {
		if err := e.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		var err error
		if _, e.answer, err = e.do(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		return e.check(w)
	}
	for _, w := range engineWorks {
		if err := errors.Join(check(inno, w), check(memory, w)); err != nil {
			t.Errorf("unchanged: %v", err)
		}
	}
	// All of them, the first too, and all in the same way.
	for _, e := range []*engine{inno, memory} {
		labtest.Tamper(t, inno, engineDatabase, "UPDATE rows_"+strings.ToLower(e.name)+" SET val = -val, name = ''")
	}
	labtest.Tamper(t, inno, engineDatabase, "DELETE FROM story WHERE id = 2")
	for _, w := range engineWorks {
		for _, e := range []*engine{inno, memory} {
			if err := check(e, w); err == nil || !strings.Contains(err.Error(), e.name) {
				t.Errorf("%s: error %v, want one that names the engine", w.name, err)
			}
		}
	}
}

// TestEnginesAreWhereTheyAre: nothing that is on disk is told to be in RAM, and of several places
// each is told by itself.
func TestEnginesAreWhereTheyAre(t *testing.T) {
	s := Scenario(labtest.Bare(t, lab.Options{Places: []string{lab.PlaceDisk, lab.PlaceRAMByHand}}))
	got := labtest.Concluded(s, map[string]float64{"having: ": 1, "having: MEMORY, stock, /dev/shm": 0.5, "having: MEMORY, stock, disk": 0.25}, nil)
	want := "against InnoDB on disk (stock, disk), MEMORY is faster: 4.0 times in having. against InnoDB in RAM (stock, /dev/shm), MEMORY is faster: 2.0 times in having."
	if !strings.HasPrefix(got, want) || strings.Contains(s.Title, "RAM") || strings.HasSuffix(s.Title, ", ") {
		t.Errorf("%s\nwant\n%s\ntitle %q", got, want, s.Title)
	}
	for want, at := range map[string]string{", on disk": lab.PlaceDisk, ", in RAM": lab.PlaceRamaria} {
		if s := Scenario(labtest.Bare(t, lab.Options{Places: []string{at}})); !strings.HasSuffix(s.Title, want) {
			t.Errorf("%s: title %q", at, s.Title)
		}
	}
}

func TestEnginesConclusion(t *testing.T) {
	s := Scenario(labtest.Bare(t, lab.Options{}))
	got := labtest.Concluded(s, map[string]float64{"count, group by: ": 2, "count, group by: MEMORY": 1, "order by, limit: ": 1, "order by, limit: MEMORY": 1.5, "having: ": 1}, nil)
	want := "against InnoDB in RAM, MEMORY is faster: 2.0 times in count, group by; slower: 1.5 times in order by, limit; the same within noise: having. " +
		"MEMORY is empty after a restart, has no transactions and no foreign keys, and locks its tables as a whole."
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := labtest.Concluded(s, nil, nil); got != "" {
		t.Error(got)
	}
}
