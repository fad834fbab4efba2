package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestClients runs the tests of the clients in other languages, each by its test.sh, which
// gets all that it needs from its language's registry. Together they see both flavours;
// RAMARIA_TEST_SERVER has them all on one.
func TestClients(t *testing.T) {
	for _, c := range []struct{ name, needs, server string }{
		{"python", "python3", "mariadb:10.11"}, {"node", "npm", "mariadb:10.11"}, {"java", "mvn", "mysql:9.7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !chosen() {
				t.Setenv(envServer, c.server)
			}
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skipf("SKIPPED, UNTESTED: the %s client: %v", c.name, err)
			}
			h := newHouse(t)
			cmd := exec.CommandContext(t.Context(), "sh", filepath.Join("..", "clients", c.name, "test.sh"))
			cmd.Env = append(os.Environ(), "RAMARIA_BIN="+filepath.Join(binDir, "ramaria"), "RAMARIA_HOME="+h.home,
				"RAMARIA_NO_FETCH=1", "RAMARIA_VOLUME="+testVolume, "RAMARIA_SERVER="+series(h.srv))
			began := time.Now()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
			t.Logf("%s on %s", time.Since(began).Round(time.Second), series(h.srv))
		})
	}
}
