package random

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/tests/grammar"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// Environment variables: for how long to go on, on each server; the seed, instead of a
// fresh one; and the number of the only lease that is to live, which is alone then.
const (
	envRandom = "RAMARIA_TEST_RANDOM"
	envSeed   = "RAMARIA_TEST_SEED"
	envLease  = "RAMARIA_TEST_LEASE"
	// envWithout is a regular expression: lines of the text files that match are left out, while what they
	// find is known and not yet mended.
	envWithout = "RAMARIA_TEST_RANDOM_WITHOUT"
	// documented are the lines about what clones differ in from their templates by design: see
	// "Statistics of clones" in docs/fidelity.md.
	documented = "HISTOGRAM"
)

// leftOut are the lines of the text files that are left out.
func leftOut() string { return cmp.Or(os.Getenv(envWithout), documented) }

const (
	// pace is how long the first server is tested in a normal run, turn how long another, or each
	// in a quick run.
	pace, turn = 25 * time.Second, 8 * time.Second
	// epoch is how long a long run stays with one instance and its templates.
	epoch = 2 * time.Minute
	// racing is how many leases there are at once.
	racing = 3
	// maxFaults is how many faults a long run finds before it gives up.
	maxFaults = 10
)

var (
	//go:embed schema.txt
	schemaText string
	//go:embed statements.txt
	statementsText string
)

// runner runs leases in one instance.
type runner struct {
	t         *testing.T
	in        *instance
	log       *journal
	counts    counts
	seed      uint64
	grammar   grammar.Grammar
	templates []*template
	faults    atomic.Int32
}

func TestRandom(t *testing.T) {
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		length := turn
		if want == servertest.Servers[0] && !servertest.Quick() {
			length = pace
		}
		length = duration(t, length)
		seed := seedOf(t)
		for end := time.Now().Add(length); time.Now().Before(end); seed++ {
			ok := t.Run(fmt.Sprint(seed), func(t *testing.T) { epochOf(t, want, seed, min(time.Until(end), epoch)) })
			if !ok && os.Getenv(envRandom) == "" || os.Getenv(envSeed) != "" {
				break
			}
		}
	})
}

func duration(t *testing.T, otherwise time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(envRandom)
	if text == "" {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", envRandom, err)
	}
	return d
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(envSeed)
	if text == "" {
		return rand.Uint64() % 1e9
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", envSeed, err)
	}
	return n
}

// generator makes what is to be repeated from the seed: stream 0 is for the templates, the
// others are for leases.
func generator(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// newRunner starts an instance with some settings, and with templates made of a seed.
func newRunner(t *testing.T, want string, seed uint64, settings []string) *runner {
	t.Helper()
	t.Logf("%s=%d, settings: %s", envSeed, seed, cmp.Or(strings.Join(settings, between), "none"))
	in := start(t, want, settings)
	r := &runner{t: t, in: in, seed: seed, grammar: grammar.Grammar{}, log: newJournal(t, filepath.Join(in.home, "random.log"))}
	for _, text := range []string{statementsText, grammar.Types} {
		r.grammar.Read(grammar.Without(text, leftOut()), in.software)
	}
	g := generator(seed, 0)
	if _, err := in.SetLimits(t.Context(), client.Limits{MaxDatabases: 64, Spare: g.IntN(4)}); err != nil {
		t.Fatal(err)
	}
	for _, names := range [][2]string{{"walnut", "rich"}, {"hazel", "rich"}, {"almond", "wide"}} {
		s := grammar.NewSchema(g, r.grammar, grammar.Without(schemaText, leftOut()), names[1], in.software)
		made, err := in.newTemplate(t.Context(), g, r.grammar, s, names[0])
		if err != nil {
			t.Fatal(err)
		}
		r.log.write(names[0], "%s", strings.Join(s.Statements, ";\n"))
		r.templates = append(r.templates, made)
	}
	return r
}

// epochOf runs leases side by side for some time.
func epochOf(t *testing.T, want string, seed uint64, length time.Duration) {
	r := newRunner(t, want, seed, drawn(seed, softwareOf(t, want)))
	if text := os.Getenv(envLease); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", envLease, err)
		}
		r.lease(t.Context(), n)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var number atomic.Uint64
	var group sync.WaitGroup
	for range racing {
		group.Go(func() {
			for ctx.Err() == nil {
				if !r.lease(ctx, number.Add(1)) && (os.Getenv(envRandom) == "" || r.faults.Load() >= maxFaults) {
					cancel()
				}
			}
		})
	}
	group.Wait()
	r.end(t)
}

// end checks what all leases together must have left, and done.
func (r *runner) end(t *testing.T) {
	for _, made := range r.templates {
		got, err := r.in.look(t.Context(), made.name, picture.Blind{})
		if err != nil {
			t.Fatal(err)
		}
		if d := picture.Differences(got, made.itself); d != "" {
			t.Errorf("the template %s was changed:\n%s", made.name, d)
		}
	}
	list, err := r.in.Templates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range list {
		if made.Changed != "" {
			t.Errorf("the template %s counts as changed: %s", made.Name, made.Changed)
		}
	}
	refused := mostRefused
	if len(r.in.settings) > 0 {
		refused = mostRefusedSet
	}
	if err := r.counts.enough(refused); err != nil {
		t.Error(err)
	}
	t.Log(&r.counts)
}

// lease lives the life that seed and number give. It reports whether it was without fault.
func (r *runner) lease(ctx context.Context, number uint64) bool {
	g := generator(r.seed, number)
	made := r.templates[g.IntN(len(r.templates))]
	name := fmt.Sprint(number)
	steps := newLife(g, r.grammar, made.Schema, name)
	database := ""
	if g.IntN(10) == 0 {
		database = "mine_" + name
	}
	at, err := r.live(ctx, name, database, made, steps)
	r.counts.lived()
	var f *fault
	if err == nil {
		return true
	}
	if !errors.As(err, &f) {
		r.t.Errorf("lease %d: %v", number, err)
		return false
	}
	r.faults.Add(1)
	steps = steps[:min(at+1, len(steps))]
	r.log.write(name, "FAULT: %v", f)
	shorter, how := r.shrink(context.WithoutCancel(ctx), name, made, steps)
	r.t.Errorf("%s=%d %s=%d, settings: %s, template %s: step %d: %v\n%s:\n%s\nEverything is in %s.", envSeed, r.seed, envLease, number,
		cmp.Or(strings.Join(r.in.settings, between), "none"), made.name, at, f, how, script(shorter), filepath.Join(r.in.home, "random.log"))
	return false
}

func script(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "\t%s\n", s)
	}
	return b.String()
}
