package host

import (
	"fmt"
	"os"
	"strings"
)

// BootID returns what tells this boot of the machine from all others; see random(4).
func (h Host) BootID() (string, error) {
	b, err := os.ReadFile(h.path("/proc/sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("tell this boot from others: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
