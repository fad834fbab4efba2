package random

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/tests/picture"
)

// journal is the file of all that leases did, with the time: racing leases cannot be repeated
// by a seed alone.
type journal struct {
	mu   sync.Mutex
	file *os.File // guarded by mu
}

func newJournal(t *testing.T, path string) *journal {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return &journal{file: f}
}

func (j *journal) write(lease, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintf(j.file, "%s %s %s\n", time.Now().Format("15:04:05.000000"), lease, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n\t"))
}

// counts are what a run did.
type counts struct {
	mu                sync.Mutex
	accepted, refused int            // statements, guarded by mu as all of these
	refusals          map[string]int // by the first words, and the number
	ways              map[string]int
	comparisons, uses int
	lives, ended      int
}

func (c *counts) statement(text string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch n := picture.Number(err); {
	case err == nil:
		c.accepted++
	case n == 0:
		c.ended++ // the connection had ended
	default:
		c.refused++
		if c.refusals == nil {
			c.refusals = map[string]int{}
		}
		words := strings.Fields(text)
		c.refusals[fmt.Sprintf("%s %d", strings.Join(words[:min(2, len(words))], " "), n)]++
	}
}

func (c *counts) way(verb, way string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ways == nil {
		c.ways = map[string]int{}
	}
	if err != nil {
		way = "refused"
	}
	c.ways[verb+" "+way]++
}

func (c *counts) compared() { c.mu.Lock(); c.comparisons++; c.mu.Unlock() }
func (c *counts) used()     { c.mu.Lock(); c.uses++; c.mu.Unlock() }
func (c *counts) lived()    { c.mu.Lock(); c.lives++; c.mu.Unlock() }

func (c *counts) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d leases, %d statements accepted, %d refused, %d on connections that had ended; %d comparisons, %d uses; %v",
		c.lives, c.accepted, c.refused, c.ended, c.comparisons, c.uses, c.ways)
}

const (
	// mostRefused is how many statements are refused for one that is accepted, at most, and mostRefusedSet where settings
	// were drawn, of which some have most of them refused. A run that does nothing finds nothing.
	mostRefused, mostRefusedSet = 1, 50
	// fewStatements and fewLives are too few to tell.
	fewStatements, fewLives = 300, 20
)

// enough says whether statements were understood, and clones compared; else the grammar is bad.
func (c *counts) enough(most int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lives >= fewLives && c.comparisons == 0 {
		return fmt.Errorf("%d leases were compared with nothing", c.lives)
	}
	if c.accepted+c.refused < fewStatements || c.accepted*most >= c.refused {
		return nil
	}
	var list []string
	for _, what := range slices.Sorted(maps.Keys(c.refusals)) {
		list = append(list, fmt.Sprintf("%s: %d", what, c.refusals[what]))
	}
	return fmt.Errorf("%d statements were accepted, and %d refused: %s", c.accepted, c.refused, strings.Join(list, ", "))
}

// TestEnough: a run that does nothing is no good one, whatever its settings.
func TestEnough(t *testing.T) {
	for _, c := range []struct {
		name string
		did  *counts
		most int
		want bool
	}{
		{"most accepted", &counts{accepted: 200, refused: 199, lives: 30, comparisons: 30}, mostRefused, true},
		{"most refused", &counts{accepted: 199, refused: 200, lives: 30, comparisons: 30}, mostRefused, false},
		{"most refused, by settings", &counts{accepted: 10, refused: 390, lives: 30, comparisons: 30}, mostRefusedSet, true},
		{"all refused, by settings", &counts{refused: 400, lives: 30, comparisons: 30}, mostRefusedSet, false},
		{"nothing compared", &counts{accepted: 400, lives: 30}, mostRefusedSet, false},
		{"too few to tell", &counts{refused: 200, lives: 10}, mostRefused, true},
	} {
		if err := c.did.enough(c.most); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
