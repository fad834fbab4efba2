package shipper

import "time"

// A disk that is held to a number of writes a second by a control group lets some through at once, and nothing for
// the rest of a tenth of a second: the kernel counts by such slices. Appends that are made as fast as they can be are
// small, use up a slice within a few milliseconds, and every commit waits for the next one, while
// the processors have nothing to do. Spread over the slice, the same number of appends carries all commits that have
// come meanwhile.
const (
	// paceWindow is over what appends are looked at: two slices and more.
	paceWindow = 250 * time.Millisecond
	// heldUp is how long an append takes that was held back, at least: no disk that is worth spreading appends for
	// takes so long for each.
	heldUp = 5 * time.Millisecond
	// mostlyBusy is what part of a window appends take that follow each other, and mostlyHeld what part of it those
	// take that were held back, where the number of appends is what the disk bounds: for boundFor windows on end,
	// since other programs hold up the disk too, for a moment. With a pace, muchHeld shows that it is too fast.
	mostlyBusy, mostlyHeld, muchHeld = 0.7, 0.5, 0.25
	boundFor                         = 3
	// fewAppends say nothing of a rate.
	fewAppends = 8
	// paceAhead is a bit faster than the disk was, so that it is always asked for all that it gives.
	paceAhead = 0.93
	// probe is what a pace is multiplied by after a window of which appends that were held up took less than hardlyHeld:
	// the disk takes more.
	probe, hardlyHeld = 0.67, 0.04
	// leastPace is a pace that no disk needs, and mostPace one at which a throttle's slices are no matter.
	leastPace, mostPace = 100 * time.Microsecond, 20 * time.Millisecond
	// trial is how many windows a pace has to show that more bytes get through with it than before, mustGain times as
	// many, and term how many it is kept then before that is looked at again. A pace that has shown nothing is not
	// tried again for firstRest windows, which double up to mostRest: one connection alone gains nothing by it.
	trial, term         = 3, 40
	mustGain            = 1.1
	firstRest, mostRest = 16, 512
)

// pacer spreads appends where the disk takes a certain number of them. It finds out by itself: the zero value does
// not spread them. Times are since any moment.
type pacer struct {
	// every is the time from the begin of an append to that of the next; 0 for none.
	every time.Duration
	// slowest is the pace of the appends before there was one: what is held up beyond that, something else holds up.
	slowest time.Duration
	last    time.Duration // when the last one began

	// without is how many bytes a second got through without a pace, and through how many have since, in windows
	// of them. rest is for how many windows no pace is tried, and rests how many that will be the next time.
	without     float64
	through     int
	windows     int
	spent       time.Duration
	rest, rests int

	// bound is in how many windows on end the disk has bounded the appends, and what follows what these were.
	bound      int
	boundSpan  time.Duration
	boundBytes int
	boundCount int

	// since is when the window began, in which appends were made, of so many bytes, some of which were held up.
	since          time.Duration
	appends, bytes int
	busy, held     time.Duration
}

// wait is for how long the next append waits.
func (p *pacer) wait(now time.Duration) time.Duration {
	if p.every == 0 {
		return 0
	}
	return max(0, p.last+p.every-now)
}

// did takes in an append of some bytes.
func (p *pacer) did(began, ended time.Duration, bytes int) {
	if p.appends == 0 && ended-p.since > 2*paceWindow { // nothing was to be done for a while
		p.since = began
		p.end(p.rest) // what comes now may be another load
	}
	p.last = began
	p.appends++
	p.bytes += bytes
	p.busy += ended - began
	if ended-began >= heldUp {
		p.held += ended - began
	}
	if span := ended - p.since; span >= paceWindow {
		p.adapt(span)
		p.since, p.appends, p.bytes, p.busy, p.held = ended, 0, 0, 0, 0
	}
}

// adapt looks at a window.
func (p *pacer) adapt(span time.Duration) {
	if p.every == 0 {
		p.begin(span)
		return
	}
	if p.windows++; p.windows > 1 { // in the first the disk still owes what was held up
		p.through += p.bytes
		p.spent += span
	}
	switch {
	case p.windows == trial && float64(p.through)/p.spent.Seconds() < mustGain*p.without:
		p.rests = min(max(firstRest, 2*p.rests), mostRest)
		p.end(p.rests)
	case p.windows >= term: // its load may be another one by now
		p.rests = 0
		p.end(0)
	case float64(p.held) < hardlyHeld*float64(span):
		if p.every = time.Duration(float64(p.every) * probe); p.every < leastPace {
			p.end(0)
		}
	case float64(p.held) >= muchHeld*float64(span):
		p.slower(span)
	}
}

// begin tries a pace if the number of appends is what bounds them.
func (p *pacer) begin(span time.Duration) {
	if p.rest > 0 {
		p.rest--
		return
	}
	if p.appends < fewAppends || float64(p.held) < mostlyHeld*float64(span) || float64(p.busy) < mostlyBusy*float64(span) {
		p.bound, p.boundSpan, p.boundBytes, p.boundCount = 0, 0, 0, 0
		return
	}
	p.bound++
	p.boundSpan += span
	p.boundBytes += p.bytes
	p.boundCount += p.appends
	if p.bound < boundFor {
		return
	}
	p.without = float64(p.boundBytes) / p.boundSpan.Seconds()
	p.slowest = min(time.Duration(float64(p.boundSpan)/float64(p.boundCount)*paceAhead), mostPace)
	p.bound, p.boundSpan, p.boundBytes, p.boundCount = 0, 0, 0, 0
	p.windows, p.through, p.spent = 0, 0, 0
	p.every = p.slowest
}

// slower takes the pace that the disk had in a window.
func (p *pacer) slower(span time.Duration) {
	p.every = p.slowest
	if p.appends > 0 {
		p.every = min(p.every, time.Duration(float64(span)/float64(p.appends)*paceAhead))
	}
}

// end does without a pace, for so many windows at least.
func (p *pacer) end(rest int) { p.every, p.rest = 0, rest }
