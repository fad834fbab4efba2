package view

import (
	"testing"
	"time"
)

func TestRate(t *testing.T) {
	var c counter
	at := time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)
	after := func(s float64) time.Time { return at.Add(time.Duration(s * float64(time.Second))) }
	for _, step := range []struct {
		name  string
		at    float64
		value int64
		want  float64 // -1 for not known
	}{
		{"the first", 0, 100, -1}, {"a second later", 1, 150, 50}, {"two and a half later", 3.5, 200, 20}, {"nothing", 4.5, 200, 0},
		{"another server", 5.5, 3, -1}, {"and on", 6.5, 10, 7}, {"at the same time", 6.5, 11, -1},
	} {
		got := c.rate(step.value, after(step.at))
		if (got == nil) != (step.want < 0) || got != nil && *got != step.want {
			t.Errorf("%s: got %v, want %v", step.name, got, step.want)
		}
	}
}
