package binlog

import "testing"

func TestConsumers(t *testing.T) {
	files := []string{"b.000008", "b.000009", "b.000010", "b.000011"}
	var c Consumers
	at := func(file string) func() Position { return func() Position { return Position{File: file, Offset: 4} } }
	for _, step := range []struct {
		name string
		do   func()
		want int
	}{
		{"none", func() {}, 0},
		{"one in the newest", func() { c.Set("pool", at("b.000011")) }, 1},
		{"a slower one", func() { c.Set("archive", at("b.000009")) }, 3},
		{"the fast one reads on", func() { c.Set("pool", at("b.000012")) }, 3},
		{"the slow one reads on", func() { c.Set("archive", at("b.000010")) }, 2},
		{"the slow one needs what is gone", func() { c.Set("archive", at("b.000007")) }, 0},
		{"the slow one needs nothing", func() { c.Set("archive", func() Position { return Position{} }) }, 0},
		{"the fast one is the slow one", func() { c.Set("pool", at("b.000008")) }, 4},
		{"it goes", func() { c.Remove("pool"); c.Remove("pool") }, 0},
	} {
		step.do()
		if got := c.Needed(files); got != step.want {
			t.Errorf("%s: %d files are needed, want %d", step.name, got, step.want)
		}
	}
}
