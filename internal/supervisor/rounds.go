package supervisor

import "time"

// rounds say when the next looks are due. Those that are due at about the same time are taken
// together: a process that wakes once costs half as much as one that wakes twice, and measures once.
type rounds struct {
	// brakes says whether there is a brake at all.
	brakes       bool
	brake, watch time.Time
}

// due says which looks to take now. One of the brake may come early, and never comes late.
func (r rounds) due(now time.Time) (brake, watch bool) {
	watch = !r.watch.After(now.Add(brakeInterval / 2))
	brake = r.brakes && (watch || !r.brake.After(now))
	return brake, watch
}

// pause is how long to wait for the next look.
func (r rounds) pause(now time.Time) time.Duration {
	next := r.watch
	if r.brakes && r.brake.Before(next) {
		next = r.brake
	}
	return next.Sub(now)
}

// rest puts both looks off.
func (r *rounds) rest(now time.Time) {
	r.brake, r.watch = now.Add(restInterval), now.Add(max(restInterval, r.watch.Sub(now)))
}
