package servertest

import (
	"fmt"
	"os"
	"os/exec"
)

// Build builds ramaria from this source, as a program at path. It finds no server that is installed, so that
// what a machine has changes no result.
func Build(path string) error {
	const module = "github.com/ramaria-db/ramaria"
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-X="+module+"/internal/software.installedDirs=/nonexistent", "-o", path, module+"/cmd/ramaria")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build ramaria: %w\n%s", err, out)
	}
	return nil
}
