package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// hugeOrder is that of a huge page of 2 MiB: the kernel counts free memory in pieces of 4 KiB shifted by an order.
const hugeOrder = 9

// HugePages is how many huge pages of 2 MiB the kernel can give without moving anything for them (/proc/buddyinfo, see
// proc(5)); none where it was told not to give any.
func (h Host) HugePages() (n int64, err error) {
	mode, err := os.ReadFile(h.path("/sys/kernel/mm/transparent_hugepage/enabled"))
	if err != nil || strings.Contains(string(mode), "[never]") {
		return 0, nil // a kernel without them
	}
	b, err := os.ReadFile(h.path("/proc/buddyinfo"))
	if err != nil {
		return 0, fmt.Errorf("count free huge pages: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		_, counts, ok := strings.Cut(line, "zone")
		f := strings.Fields(counts)
		if !ok || len(f) < 2 {
			continue
		}
		for order, count := range f[1:] {
			if order < hugeOrder {
				continue
			}
			k, err := strconv.ParseInt(count, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("count free huge pages: %w", err)
			}
			n += k << (order - hugeOrder)
		}
	}
	return n, nil
}
