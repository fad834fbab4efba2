package tier

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// place is what is written to.
type place struct {
	tiering    *tiering
	name, says string
	ours       bool
	onDisk     bool // what is written to it is for a disk, in the end
	mayFail    bool // it may have no room for all of it
	make       func(ctx context.Context, dir string) (*lab.Scratch, error)

	begun  bool
	err    error
	lies   string // its file system
	full   string // why there is no more room after so many steps
	steps  int    // that there is room for
	pass   *pass  // the last one
	taken  map[int]bool
	passes int
}

// pass is one round of a writer.
type pass struct {
	write, read, past, pastRead []step
	wrong                       string // what did not come back
	full                        string // why it has fewer steps than were asked for
	mount, files, back, spilled float64
}

// prepare finds out whether there can be such a place and how much it takes, once.
func (p *place) prepare(ctx context.Context) error {
	if !p.begun {
		p.begun = true
		p.err = p.begin(ctx)
	}
	return p.err
}

func (p *place) begin(ctx context.Context) error {
	p.steps = steps
	if p.mayFail {
		made, err := p.run(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, runner.ErrUnavailable) {
				return err
			}
			return lab.NotApplicableError("it fails: " + err.Error())
		}
		p.steps, p.full = min(len(made.write), len(made.past)), made.full
		return nil
	}
	s, err := p.open(ctx)
	if err != nil {
		return err
	}
	return s.Close()
}

// open makes it.
func (p *place) open(ctx context.Context) (*lab.Scratch, error) {
	s, err := p.make(ctx, filepath.Join(p.tiering.lab.Dir, fmt.Sprintf("tier-%d", p.passes)))
	if err != nil {
		return nil, err
	}
	p.passes++
	p.lies = p.tiering.lab.DescribeStorage(s.Dir, !p.onDisk)
	return s, nil
}

// round is what a pass has measured at one step; the first to ask makes the writer write.
func (p *place) round(ctx context.Context, at int) (runner.Sample, error) {
	if p.pass == nil || p.taken[at] {
		made, err := p.run(ctx)
		if err != nil {
			return runner.Sample{}, fmt.Errorf("%s: %w", p.name, err)
		}
		p.pass, p.taken = made, map[int]bool{}
	}
	p.taken[at] = true
	return p.pass.at(at, p.steps, p.tiering.step)
}

// check says whether all of the last pass came back.
func (p *place) check(context.Context) error {
	if p.pass != nil && p.pass.wrong != "" {
		return fmt.Errorf("%s: %s", p.name, p.pass.wrong)
	}
	return nil
}

// at is what a step came to: what is of the whole pass is told with the last.
func (m *pass) at(at, last int, size int64) (runner.Sample, error) {
	if at > min(len(m.write), len(m.past)) {
		return runner.Sample{}, errors.New(m.full)
	}
	rate := func(s []step) float64 { return float64(size) / s[at-1].Seconds }
	sample := runner.Sample{Value: rate(m.write), Beside: map[string]float64{
		readBack: rate(m.read), writePast: rate(m.past), readPast: rate(m.pastRead),
		longest: m.write[at-1].Longest, longestPast: m.past[at-1].Longest,
	}}
	if at < last {
		return sample, nil
	}
	for name, v := range map[string]float64{mounting: m.mount, smallFiles: m.files, givenBack: m.back, spilled: m.spilled} {
		if !math.IsNaN(v) {
			sample.Beside[name] = v
		}
	}
	return sample, nil
}

// run makes the place, has a writer write and read there, and takes it away.
func (p *place) run(ctx context.Context) (_ *pass, err error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	// What others have left in the page cache is not to count.
	if err := sys.SyncFS(p.tiering.lab.Dir); err != nil {
		return nil, err
	}
	m := &pass{mount: math.NaN()}
	if s.Took > 0 {
		m.mount = s.Took.Seconds()
	}
	err = s.Use(func() (err error) {
		m.spilled, err = s.MostSpilled(func() error { return p.write(ctx, s, m) })
		return err
	})
	return m, err
}

func (p *place) write(ctx context.Context, s *lab.Scratch, m *pass) (err error) {
	w, err := p.tiering.startWriter(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.end()) }()
	for _, way := range []struct {
		past        bool
		write, read *[]step
	}{{false, &m.write, &m.read}, {true, &m.past, &m.pastRead}} {
		before := p.inRAM(s)
		wrote, err := w.do(order{Do: doWrite, Step: p.tiering.step, Steps: steps, Past: way.past})
		if err != nil {
			return err
		}
		if wrote.Full != "" {
			m.full = wrote.Full
		}
		read, err := w.do(order{Do: doRead, Step: p.tiering.step, Past: way.past})
		if err != nil {
			return err
		}
		*way.write, *way.read, m.wrong = wrote.Steps, read.Steps, cmp.Or(m.wrong, read.Wrong)
		if way.past != (s.InRAM != nil) { // past the page cache it is all in RAM that is to be
			if _, err := w.do(order{Do: doRemove}); err != nil {
				return err
			}
			continue
		}
		if m.back, err = p.giveBack(ctx, s, w, before); err != nil {
			return err
		}
	}
	files := order{Do: doFiles, Time: smallTime}
	if p.tiering.step == leastStep*blockBytes {
		files.Time = littleTime
	}
	made, err := w.do(files)
	m.files = made.Rate
	return err
}

// giveBackPoll is the pause between two looks at the memory, and giveBackPatience how long it may take
// after the removal.
const (
	giveBackPoll     = time.Millisecond
	giveBackPatience = time.Second
	// kept is the part of the memory, one in so many, that file systems may keep for their own structures.
	kept = 10
)

// giveBack removes the file and returns how many seconds later its memory was free, NaN where that is not
// known.
func (p *place) giveBack(ctx context.Context, s *lab.Scratch, w *child, before int64) (float64, error) {
	most := p.inRAM(s)
	began := time.Now()
	if _, err := w.do(order{Do: doRemove}); err != nil {
		return 0, err
	}
	removed := time.Now()               // which may take long itself, and then is what there is to tell
	if most-before < p.tiering.step/2 { // others have taken or given as much
		return math.NaN(), nil
	}
	for p.inRAM(s) > before+(most-before)/kept {
		if time.Since(removed) > giveBackPatience {
			return math.NaN(), ctx.Err()
		}
		time.Sleep(giveBackPoll)
	}
	return time.Since(began).Seconds(), nil
}

// inRAM is what of a place lies in memory; of the page cache, what the machine has in it.
func (p *place) inRAM(s *lab.Scratch) int64 {
	if s.InRAM != nil {
		n, err := s.InRAM()
		if err != nil {
			return 0
		}
		return n
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	var kilobytes int64
	if _, rest, ok := strings.Cut(string(text), "\nCached:"); ok {
		_, _ = fmt.Sscan(rest, &kilobytes) // 0 is not known
	}
	return kilobytes << 10
}

// child is a writer.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *json.Encoder
	answers *json.Decoder
	talk    bytes.Buffer
}

// startWriter starts one that is held back as the place says.
func (o *tiering) startWriter(ctx context.Context, s *lab.Scratch) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, o.lab.Exe, "bench", "write", s.Dir, "--home", o.lab.Home)}
	c.cmd.Stderr = &c.talk
	// If this process is killed the kernel tells it when the thread ends that forked, see prctl(2); and its
	// orders end.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.orders, c.answers = json.NewEncoder(c.in), json.NewDecoder(out)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start writer: %w", err)
	}
	if err := errors.Join(s.Throttle.Add(c.cmd.Process.Pid), s.Memory.Add(c.cmd.Process.Pid)); err != nil {
		return nil, errors.Join(err, c.end())
	}
	return c, nil
}

// do has it do something.
func (c *child) do(o order) (a answer, err error) {
	if err = c.orders.Encode(o); err == nil {
		err = c.answers.Decode(&a)
	}
	if err != nil {
		return a, fmt.Errorf("%s: the writer: %w: %s", o.Do, err, strings.TrimSpace(c.talk.String()))
	}
	if a.Error != "" {
		return a, fmt.Errorf("%s: %s", o.Do, a.Error)
	}
	return a, nil
}

func (c *child) end() error {
	if err := errors.Join(c.in.Close(), c.cmd.Wait()); err != nil {
		return fmt.Errorf("end writer: %w: %s", err, strings.TrimSpace(c.talk.String()))
	}
	return nil
}
