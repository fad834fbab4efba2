package exporter

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAlerts has promtool, of Debian's package prometheus, check the alert rules and run their tests.
func TestAlerts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED, UNTESTED: the alert rules, since there is no promtool")
	}
	for _, args := range [][]string{{"check", "rules", "ramaria-alerts.yml"}, {"test", "rules", "ramaria-alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = filepath.Join("..", "..", "packaging", "monitoring")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args, err, out)
		}
	}
}
