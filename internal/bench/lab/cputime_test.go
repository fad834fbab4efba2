package lab

import (
	"testing"
	"time"
)

func TestCPUTime(t *testing.T) {
	stat := "4711 (mariadbd) (x) S 1 2 3 4 -1 5 6 7 8 9 250 50 10 11 20 0 30 0 99\n"
	if got, err := parseCPUTime(stat); err != nil || got != 3*time.Second {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "1 (x) S 1 2", "1 (x) S 1 2 3 4 5 6 7 8 9 10 a b c"} {
		if _, err := parseCPUTime(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
	before, err := CPUTime(1)
	if err != nil || before < 0 {
		t.Errorf("%v, %v", before, err)
	}
}
