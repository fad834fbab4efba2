package differential

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/tests/grammar"
)

// Environment variables: for how long to go on, on each server; the seed, instead of a fresh one; and the number of
// the only trial to run.
const (
	envLong  = "RAMARIA_TEST_DIFFERENTIAL"
	envSeed  = "RAMARIA_TEST_SEED"
	envTrial = "RAMARIA_TEST_TRIAL"
	// envWithout is a regular expression: lines of the grammar that match are left out, while what they find is known
	// and not yet mended.
	envWithout = "RAMARIA_TEST_DIFFERENTIAL_WITHOUT"
)

const (
	// turn is how long a server is tested in a normal run.
	turn = 25 * time.Second
	// together is how many trials a cycle has.
	together = 40
	// shrunkAtOnce is how many trials are made shorter at once: each is tried in some dozens of ways.
	shrunkAtOnce = 16
	// epoch is how many cycles an instance lives for.
	epoch = 8
)

var (
	//go:embed statements.txt
	statementsText string
	//go:embed unmended.txt
	unmendedText string
)

// runner runs trials on one instance after the other.
type runner struct {
	t        *testing.T
	want     string
	seed     uint64
	in       *instance
	grammar  grammar.Grammar
	lines    []string
	order    []int
	settings []choice
	cycles   int
	again    int
	// accepted, refused and tried are how often a line was accepted as a whole, what the server last said of one that was
	// not, and how often it ran.
	accepted, tried []int
	refused         []string
	// known are the differences that were told of, and fatal short trials that keep a recovery from succeeding.
	known map[string]bool
	kill  bool // the server, at times, before the RAM is lost
	fatal []*trial
	// short are those that were told of; longer ones of the same are counted in more.
	short []*trial
	more  int
}

func TestDifferential(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		length, seed := duration(t), seedOf(t)
		t.Logf("%s=%d", envSeed, seed)
		r := newRunner(t, want, seed)
		defer func() { r.in.end() }()
		if text := os.Getenv(envTrial); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			r.trials(t.Context(), []*trial{r.newTrial(n)})
			return
		}
		n := 0
		for end := time.Now().Add(length); time.Now().Before(end) && t.Context().Err() == nil; {
			var list []*trial
			for ; len(list) < together; n++ {
				if t := r.newTrial(n); !slices.ContainsFunc(r.fatal, t.has) {
					list = append(list, t)
				}
			}
			r.trials(t.Context(), list)
		}
		r.report(n)
	})
}

func duration(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(envLong)
	if text == "" {
		return turn
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", envLong, err)
	}
	return d
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(envSeed)
	if text == "" {
		return rand.Uint64() % 1e9 // #nosec G404 -- no secret
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", envSeed, err)
	}
	return n
}

// leftOut is a pattern of the lines and settings that are left out.
func leftOut() string {
	var list []string
	for line := range strings.Lines(unmendedText) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return cmp.Or(os.Getenv(envWithout), strings.Join(list, "|"), "^$")
}

// killing is what a pattern must match for servers not to be killed among XA transactions.
const killing = "kill the server"

func newRunner(t *testing.T, want string, seed uint64) *runner {
	t.Helper()
	r := &runner{t: t, want: want, seed: seed, in: start(t, want), grammar: grammar.Grammar{}, known: map[string]bool{}}
	if regexp.MustCompile(leftOut()).MatchString(sideBySide) {
		r.in.atOnce = 1
	}
	r.kill = !regexp.MustCompile(leftOut()).MatchString(killing)
	for _, text := range []string{statementsText, grammar.Types} {
		r.grammar.Read(grammar.Without(text, leftOut()), r.in.software)
	}
	r.lines = lines(r.grammar)
	r.order = rand.New(rand.NewPCG(seed, 0)).Perm(len(r.lines)) // #nosec G404 -- repeatable by the seed
	r.accepted, r.tried, r.refused = make([]int, len(r.lines)), make([]int, len(r.lines)), make([]string, len(r.lines))
	var err error
	if r.settings, err = r.in.choices(t.Context(), leftOut()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range r.settings {
		n += len(c.values)
	}
	t.Logf("%d lines, %d variables with %d values", len(r.lines), len(r.settings), n)
	return r
}

// fresh puts another instance in the place of one that does not recover, or has lived for long.
func (r *runner) fresh() {
	r.in.again()
	r.cycles = 0
}

// trials runs trials, and tells of those that differ.
func (r *runner) trials(ctx context.Context, list []*trial) {
	if r.cycles++; r.cycles > epoch {
		r.fresh()
	}
	differ, err := r.differing(ctx, list)
	if err != nil {
		r.t.Errorf("%s=%d, trials %s to %s: %v", envSeed, r.seed, list[0].database, list[len(list)-1].database, err)
		r.fresh()
		return
	}
	if d := differ[""]; d != "" {
		r.t.Errorf("%s=%d, trials %s to %s: the server differs:\n%s", envSeed, r.seed, list[0].database, list[len(list)-1].database, d)
	}
	var found []*trial
	for _, t := range list {
		if differ[t.database] != "" {
			if slices.ContainsFunc(r.short, t.has) {
				r.more++
			} else {
				found = append(found, t)
			}
		}
	}
	for some := range slices.Chunk(found, shrunkAtOnce) {
		short, err := r.shrink(ctx, some)
		if err != nil {
			r.t.Errorf("make trials shorter: %v", err)
		}
		for i, t := range some {
			if s := short[i]; s.differs != "" {
				r.tell(t, s.trial, s.differs)
				r.short = append(r.short, s.trial)
			} else {
				r.tell(t, t, "not when it runs once more, but then:\n"+differ[t.database])
			}
		}
	}
}

// tell tells of a trial that differs, once for each that is the same when it is short.
func (r *runner) tell(t, short *trial, what string) {
	key := strings.ReplaceAll(short.String(), short.database, "DB")
	if r.known[key] {
		return
	}
	r.known[key] = true
	r.t.Errorf("%s=%d %s=%s %s=%s\n%s%s", envSeed, r.seed, envTrial, t.database[1:], servertest.EnvServer, r.want, short, what)
}

func lastLines(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-6):], "\n")
}

// count writes down how lines fared.
func (r *runner) count(trials []*trial, said map[string]outcome) {
	for _, t := range trials {
		ok, bad := map[int]bool{}, map[int]string{}
		for i, err := range said[t.database] {
			s := t.steps[i]
			if s.line < 0 {
				if err != nil && !t.repeats && len(t.settings) == 0 {
					r.t.Logf("what trials need is refused: %s: %v", s, err)
				}
				continue
			}
			if ok[s.line] = true; err != nil {
				bad[s.line] = fmt.Sprintf("%s: %v", s.text, err)
			}
		}
		for line := range ok {
			if t.repeats {
				continue
			}
			r.tried[line]++
			if bad[line] == "" {
				r.accepted[line]++
			} else {
				r.refused[line] = bad[line]
			}
		}
	}
}

// report tells which lines the server never accepted.
func (r *runner) report(n int) {
	done := 0
	for i, line := range r.lines {
		switch {
		case r.accepted[i] > 0:
			done++
		case r.tried[i] > 0 && !slices.Contains(r.grammar["do refused"], line):
			r.t.Logf("never accepted, of %d times: %s\n\t%s", r.tried[i], line, r.refused[i])
		}
	}
	r.t.Logf("%d trials; of %d lines %d were accepted; %d trials differed like others", n, len(r.lines), done, r.more)
}
