package host

import "testing"

func TestHugePages(t *testing.T) {
	const enabled = "/sys/kernel/mm/transparent_hugepage/enabled"
	files := map[string]string{enabled: "always [madvise] never\n", "/proc/buddyinfo": `Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3
Node 0, zone   Normal    266    437   2597   4870   2017    628    245    109     49     25    100
`}
	if n, err := tree(t, files).HugePages(); err != nil || n != 1+2*3+25+2*100 {
		t.Errorf("%d, %v", n, err)
	}
	files[enabled] = "always madvise [never]\n"
	if n, err := tree(t, files).HugePages(); n != 0 || err != nil {
		t.Errorf("%d, %v where none are to be given", n, err)
	}
	files = map[string]string{enabled: "[always] madvise never\n"}
	if _, err := tree(t, files).HugePages(); err == nil {
		t.Error("no error without the list")
	}
}
