package servertest

import (
	"fmt"
	"os"
	"os/exec"
)

// EnvSystemd names the directory that the program of Build takes for /run/systemd.
const EnvSystemd = "RAMARIA_TEST_SYSTEMD"

// Build builds ramaria from this source, as a program at path. It finds no server that is installed, and no
// systemd but the one of EnvSystemd, so that what a machine has changes no result.
func Build(path string) error {
	const module = "github.com/ramaria-db/ramaria"
	flags := "-ldflags=-X=" + module + "/internal/software.installedDirs=/nonexistent -X=" + module + "/internal/sys.systemdVariable=" + EnvSystemd
	cmd := exec.Command("go", "build", "-buildvcs=false", flags, "-o", path, module+"/cmd/ramaria")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build ramaria: %w\n%s", err, out)
	}
	return nil
}
