package host

import "testing"

func TestHugePages(t *testing.T) {
	h := tree(t, map[string]string{"/proc/buddyinfo": `Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3
Node 0, zone   Normal    266    437   2597   4870   2017    628    245    109     49     25    100
`})
	if n, err := h.HugePages(); err != nil || n != 1+2*3+25+2*100 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := tree(t, nil).HugePages(); err == nil {
		t.Error("no error without the list")
	}
}
