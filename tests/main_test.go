package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// envBinary names a ramaria to test instead of one built from this source; so do
// the tests themselves when they run again as another user.
const envBinary = "RAMARIA_TEST_BINARY"

// binDir is a directory with ramaria in it, the first on the PATH of scripts.
var binDir string

func TestMain(m *testing.M) {
	testscript.Main(&suite{m}, map[string]func(){
		"withtmpfs":        withTmpfs,
		"withtmpfs-inner":  withTmpfsInner,
		"withmemory":       withMemory,
		"withmemory-inner": withMemoryInner,
		"withswap":         withSwap,
		"dbexec":           dbExec,
	})
}

// suite builds the binary before the tests and removes it after them.
type suite struct{ m *testing.M }

func (s *suite) Run() int {
	dir, err := buildBinary()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binDir = dir
	defer removeEmpties()
	return s.m.Run()
}

// buildBinary returns a directory, open to every user, that holds ramaria.
func buildBinary() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "rb-"); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "ramaria")
	if ready := os.Getenv(envBinary); ready != "" {
		return dir, os.Symlink(ready, binary)
	}
	return dir, servertest.Build(binary)
}
