package view

import "time"

// counter is what was counted at the last look.
type counter struct {
	value int64
	at    time.Time
}

// rate notes what is counted now, and returns by how much that has grown a second since the last time;
// nil if there was none, or if counting began again in between, as with another server.
func (c *counter) rate(value int64, now time.Time) *float64 {
	was := *c
	*c = counter{value, now}
	span := now.Sub(was.at).Seconds()
	if was.at.IsZero() || value < was.value || span <= 0 {
		return nil
	}
	r := float64(value-was.value) / span
	return &r
}
