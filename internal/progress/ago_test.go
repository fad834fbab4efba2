package progress

import (
	"testing"
	"time"
)

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "now", 30 * time.Second: "30 s ago", 30 * time.Minute: "30 min ago", 30 * time.Hour: "30 h ago", 72 * time.Hour: "3 days ago",
	} {
		if got := Ago(time.Now().Add(-d)); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
}
