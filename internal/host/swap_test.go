package host

import "testing"

func TestSwap(t *testing.T) {
	h := tree(t, map[string]string{"proc/meminfo": "MemTotal: 1 kB\nSwapTotal:      614396 kB\nSwapFree:       510932 kB\n", "proc/7/status": "Name:\tmysqld\nVmSwap:\t    2048 kB\n"})
	if got := h.SwapUsed(); got != 103464<<10 {
		t.Errorf("%d bytes are swapped out", got)
	}
	if got := h.SwappedOut(7); got != 2<<20 {
		t.Errorf("%d bytes of the process are", got)
	}
	if none := tree(t, nil); none.SwapUsed() != 0 || none.SwappedOut(7) != 0 {
		t.Error("something is swapped out where nothing is known")
	}
}
