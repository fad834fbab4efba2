package sys

import (
	"cmp"
	"os"
)

// systemdVariable, if the linker sets it, is the name of a variable of the environment that names the directory to look
// into in place of /run/systemd: what runs on a machine is nothing to the tests that run the whole program.
var systemdVariable string

// RunSystemd is the directory in which systemd says that it runs, and logind who is logged in.
func RunSystemd() string {
	if systemdVariable != "" {
		return cmp.Or(os.Getenv(systemdVariable), "/nonexistent")
	}
	return "/run/systemd"
}
