package software

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// barSteps is the resolution of a progress bar, barEvery how often it is drawn.
const (
	barSteps = 1000
	barEvery = 100 * time.Millisecond
)

// progress shows how far a fetch is: a bar on a terminal, else one line at the
// start and one at the end. Its methods may be called by one goroutine at a time.
type progress struct {
	w        io.Writer // nil for silence
	what     string
	where    string
	shown    bool
	began    time.Time
	bar      *progressbar.ProgressBar // nil where there is no terminal
	from, to float64                  // the part of the bar that the current phase has
}

// newProgress makes one that shows itself when the first phase begins. where is
// shown once, so that people know what fills their disk.
func newProgress(w io.Writer, what, where string) *progress {
	return &progress{w: w, what: what, where: where, began: time.Now()}
}

func (p *progress) begin() {
	if p.shown || p.w == nil {
		return
	}
	p.shown = true
	if f, ok := p.w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(p.w, "ramaria: %s into %s\n", p.what, p.where)
		return
	}
	p.bar = progressbar.NewOptions(barSteps,
		progressbar.OptionSetWriter(p.w),
		progressbar.OptionSetDescription(p.what),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(barEvery),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionClearOnFinish(),
	)
}

// phase begins the next part of the work, which has from..to (0 to 1) of the bar.
func (p *progress) phase(name string, from, to float64) {
	p.begin()
	p.from, p.to = from, to
	if p.bar != nil {
		p.bar.Describe(p.what + ": " + name)
	}
	p.at(0)
}

// at says how much of the phase is done, 0 to 1.
func (p *progress) at(done float64) {
	if p.bar != nil {
		p.bar.Set(int(barSteps * min(1, p.from+done*(p.to-p.from)))) // drawing may fail; the work goes on
	}
}

// end takes the bar away and says what came of it: the size of dir, or of an error the
// first line, since another method may be tried next and work.
func (p *progress) end(dir string, err error) {
	if p.bar != nil {
		p.bar.Clear()
	}
	if !p.shown {
		return
	}
	took := time.Since(p.began).Seconds()
	if err != nil {
		fmt.Fprintf(p.w, "ramaria: %s: %s\n", p.what, firstLine(err.Error()))
		return
	}
	fmt.Fprintf(p.w, "ramaria: %s: done in %.1f s (%s)\n", p.what, took, megabytes(diskUse(dir)))
}
