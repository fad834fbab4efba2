package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/template"
)

// shop has spares whose clones are made of nothing, requests that take them, and an eye on what breaks
// the invariant of spares.
type shop struct {
	*spares
	behind sync.WaitGroup
	rnd    *rand.Rand

	reading sync.Mutex

	mu      sync.Mutex
	n       int
	failing bool
	// touched are databases that are not as new, and holders the requests that have one.
	touched map[string]bool
	holders map[string]int
	// shapes numbers the shapes of templates, of which latest are the present ones, and asked the
	// requests by what they wait on.
	shapes map[*template.Shape]int
	latest map[string]int
	asked  map[chan clone]int
	// served is the last request that got an answer.
	served map[*supply]int
	faults []error
}

func newShop(life context.Context, rnd *rand.Rand, limits Limits) *shop {
	s := &shop{
		rnd: rnd, touched: map[string]bool{}, holders: map[string]int{},
		shapes: map[*template.Shape]int{}, latest: map[string]int{}, asked: map[chan clone]int{}, served: map[*supply]int{},
	}
	s.spares = &spares{
		maker: s, leases: newLeases(dbconn.Endpoint{}), life: life, run: s.behind.Go, log: slog.New(slog.DiscardHandler),
		idle: time.Hour, limits: limits, of: map[string]*supply{}, room: math.MaxInt64,
	}
	return s
}

func (s *shop) makeSpare(name string) (*lease, error) {
	s.mu.Lock()
	s.n++
	n, failed := s.n, s.failing && s.rnd.IntN(5) == 0
	s.mu.Unlock()
	time.Sleep(time.Duration(n%7) * time.Millisecond)
	if failed {
		return nil, errors.New("it fails")
	}
	shape := s.read(name)
	if shape == nil {
		return nil, noTemplate(name)
	}
	time.Sleep(time.Duration(n%3) * time.Millisecond)
	l := newLease(name, fmt.Sprintf("%s_%d", name, n), true)
	l.database.Shape = shape
	s.leases.claim(l)
	s.leases.made(l)
	return l, nil
}

// read returns the shape of a template, which it reads if it is not known.
func (s *shop) read(name string) *template.Shape {
	s.reading.Lock()
	defer s.reading.Unlock()
	t, shape := s.find(name)
	if t != nil && shape == nil {
		shape = s.newShape(name)
		s.setShape(t, shape, 10, reset.Rights{})
		s.now(shape)
	}
	return shape
}

func (s *shop) newShape(name string) *template.Shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	shape := &template.Shape{Name: name}
	s.shapes[shape] = len(s.shapes) + 1
	return shape
}

// now says that the template is like that for all requests from now on.
func (s *shop) now(shape *template.Shape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest[shape.Name] = max(s.latest[shape.Name], s.shapes[shape])
}

func (s *shop) restore(l *lease) error {
	time.Sleep(time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.touched, l.Name)
	if s.failing && s.rnd.IntN(5) == 0 {
		s.leases.end(l)
		return errors.New("it fails")
	}
	s.leases.made(l)
	return nil
}

func (s *shop) removeSpare(l *lease) error {
	time.Sleep(time.Millisecond)
	s.leases.end(l)
	return nil
}

func (s *shop) certain(string) error { return nil }

func (s *shop) changed(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.touched[name] {
		return "it was touched"
	}
	return ""
}

func (s *shop) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Errorf(format, args...))
}

// request is the nth request for a clone, which it uses and gives back.
func (s *shop) request(ctx context.Context, n int, name string, patience, use time.Duration, end int) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	mine := make(chan clone, 1)
	s.mu.Lock()
	s.asked[mine] = n
	before := s.latest[name]
	s.mu.Unlock()
	t := s.wait(name, mine)
	l, err := s.get(ctx, t, mine)
	s.mu.Lock()
	if t != nil && !errors.Is(err, context.DeadlineExceeded) {
		s.served[t] = max(s.served[t], n)
	}
	if (l == nil) != (err != nil) {
		s.fault("request %d got %v and error %v", n, l, err)
	}
	if l != nil {
		if other := s.holders[l.Name]; other != 0 {
			s.fault("request %d got %s, which request %d has", n, l.Name, other)
		}
		if s.touched[l.Name] {
			s.fault("request %d got %s, which was touched", n, l.Name)
		}
		if s.shapes[l.database.Shape] < before {
			s.fault("request %d got a clone of the template as it was before", n)
		}
		s.holders[l.Name] = n
	}
	s.mu.Unlock()
	if l == nil {
		return
	}
	if end > 0 { // the test has it
		s.leases.begin(l, time.Hour)
		time.Sleep(use)
	}
	s.mu.Lock()
	delete(s.holders, l.Name)
	s.touched[l.Name] = end > 0
	s.mu.Unlock()
	switch end {
	case 0: // the request is gone
		s.leases.cancel(l)
		s.giveBack(l, true)
	case 1:
		next := s.reuse(l)
		s.leases.end(l)
		if next != nil {
			s.workOn(next)
		}
	default:
		s.leases.end(l)
	}
}

// still runs f under all locks.
func (s *shop) still(f func()) {
	s.spares.mu.Lock()
	defer s.spares.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	f()
}

// order looks whether a request waits that came before one that got an answer.
func (s *shop) order() {
	for _, t := range s.of {
		last := 0
		for _, w := range t.waiting {
			n := s.asked[w]
			if n < s.served[t] || n < last {
				s.fault("request %d waits behind requests %d and %d", n, s.served[t], last)
			}
			last = n
		}
	}
}

// left looks whether each clone is for requests, and none lost.
func (s *shop) left() {
	if len(s.unwanted) > 0 {
		s.fault("%d clones are not removed", len(s.unwanted))
	}
	for name, l := range s.leases.byName {
		t := s.of[l.Template]
		if t == nil || !slices.Contains(t.ready, l) || !l.spare {
			s.fault("%s is lost", name)
		}
	}
	for name, t := range s.of {
		if t.making != 0 || len(t.waiting) != 0 {
			s.fault("of %s %d are being made and %d wait", name, t.making, len(t.waiting))
		}
	}
}

// walk lets requests come and go while templates, limits and room change, and returns what broke the
// invariant. spoil, if it is not nil, is called now and then, by still.
func walk(t *testing.T, seed uint64, spoil func(*shop)) (faults []error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		life, end := context.WithCancel(t.Context())
		defer end()
		s := newShop(life, rand.New(rand.NewPCG(seed, 4)), Limits{MaxDatabases: 64, Spare: 2})
		s.failing = true
		var all sync.WaitGroup
		for n := 1; n <= 300; n++ {
			name := []string{"a", "b"}[rnd.IntN(2)]
			sup, _ := s.find(name)
			switch do := rnd.IntN(12); {
			case sup == nil:
				s.add(&supply{name: name, used: time.Now()})
			case do == 0: // the template is made again
				shape := s.newShape(name)
				s.renew(sup, shape, 10, reset.Rights{})
				s.now(shape)
				s.clear(sup)
				s.fill(sup)
			case do == 1:
				if clone, waited := s.end(sup); clone == "" && !waited {
					s.clear(sup)
				}
			case do == 2:
				old := s.setLimits(Limits{MaxDatabases: 64, Spare: rnd.IntN(4)})
				s.adjust(old)
			case do == 3:
				s.maintain(time.Now(), int64(rnd.IntN(400)), true)
			case do == 4:
				s.still(func() {
					if n := len(sup.ready); n > 0 {
						s.touched[sup.ready[rnd.IntN(n)].Name] = true
					}
				})
			default:
				patience, use, end := time.Duration(1+rnd.IntN(20))*time.Millisecond, time.Duration(rnd.IntN(9))*time.Millisecond, rnd.IntN(4)
				all.Go(func() { s.request(t.Context(), n, name, patience, use, min(end, 2)) })
			}
			synctest.Wait()
			s.still(s.order)
			if spoil != nil {
				s.still(func() { spoil(s) })
			}
			if rnd.IntN(3) == 0 {
				time.Sleep(time.Duration(rnd.IntN(6)) * time.Millisecond)
				synctest.Wait()
				s.still(s.order)
			}
		}
		all.Wait()
		s.behind.Wait()
		s.still(s.left)
		faults = s.faults
	})
	return faults
}

func TestHandout(t *testing.T) {
	for seed := range uint64(60) {
		for _, err := range walk(t, seed, nil) {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestHandoutFaults: the walk of TestHandout sees what would break the invariant.
func TestHandoutFaults(t *testing.T) {
	for name, spoil := range map[string]func(*shop){
		"a clone that was touched counts as new": func(s *shop) { s.maker = blind{s} },
		"requests change places": func(s *shop) {
			for _, t := range s.of {
				slices.Reverse(t.waiting)
			}
		},
		"a clone goes to two": func(s *shop) {
			for name := range s.holders {
				if l := s.leases.byName[name]; l != nil && s.of[l.Template] != nil {
					t := s.of[l.Template]
					t.ready = append(t.ready, l)
					s.maker = blind{s}
					return
				}
			}
		},
		"clones of before count": func(s *shop) {
			for _, t := range s.of {
				for _, l := range t.ready {
					t.shape = l.database.Shape
				}
			}
		},
		"a clone is lost": func(s *shop) {
			for _, t := range s.of {
				if len(t.ready) > 0 {
					t.ready = t.ready[1:]
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(400) {
				if len(walk(t, seed, spoil)) > 0 {
					return
				}
			}
			t.Error("nothing is seen")
		})
	}
}

// blind makes clones as a shop does, and sees nothing of what happens to them.
type blind struct{ *shop }

func (blind) changed(string) string { return "" }

// TestHandoutRoom makes as many clones ahead as are allowed and fit: 10 bytes each, of which all may
// take an eighth of what there is without them.
func TestHandoutRoom(t *testing.T) {
	for _, tc := range []struct {
		name        string
		room        int64
		spare, want int
		idle        bool
	}{
		{"none allowed", 1000, 0, 0, false},
		{"two allowed", 1000, 2, 2, false},
		{"room for one", 80, 2, 1, false},
		{"room for two", 160, 3, 2, false},
		{"a byte short of one", 79, 2, 0, false},
		{"no room", 0, 2, 0, false},
		{"no request", 1000, 2, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				life, end := context.WithCancel(t.Context())
				defer end()
				s := newShop(life, rand.New(rand.NewPCG(1, 1)), Limits{MaxDatabases: 64, Spare: tc.spare})
				sup := &supply{name: "a", shape: s.newShape("a"), size: 10, used: time.Now()}
				if tc.idle {
					time.Sleep(s.idle + time.Second)
				}
				s.add(sup)
				for range 5 {
					s.maintain(time.Now(), tc.room-10*int64(len(sup.ready)), true)
					s.behind.Wait()
				}
				if got := len(sup.ready); got != tc.want {
					t.Errorf("%d clones, want %d", got, tc.want)
				}
			})
		})
	}
}
