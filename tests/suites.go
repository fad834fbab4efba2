// Package tests drives the real ramaria binary, in txtar scripts and in Go, against real
// MariaDB and MySQL servers: script/*.txtar, each a test of its own with a home of its
// own. No test may leave a process or a file of Ramaria behind.
package tests

import "github.com/ramaria-db/ramaria/internal/server/servertest"

// Servers are those that everything must work on.
var Servers = servertest.Servers

// Suite is a row of the grid that tests/matrix prints.
type Suite struct {
	Name string
	// Scripts are files of script/, without .txtar; Tests are functions of this package.
	Scripts, Tests []string
}

// Suites are those that run on every server. TestSuites sees to it that each script and
// each test is here, or in Once.
var Suites = []Suite{
	{
		Name: "lifecycle",
		Scripts: []string{
			"lifecycle", "run", "settings", "set-refused", "other-flags", "chosen", "names", "at-once", "account-removed", "log-off", "scratch", "buffer-pool", "reboot", "callers", "env", "quit", "large-log",
			"odd-home", "new-home", "logout", "taken-away", "cleared-cache",
		},
		Tests: []string{"TestLoginOverTCP", "TestApplicationCannotBlindTheSupervisor"},
	},
	{
		Name: "image",
		Scripts: []string{
			"image", "image-save", "from-instance", "dumps", "dump-pack", "load", "template-dumps", "other-flavour", "bad-dump", "cut-dump", "client-command", "sources", "exec", "objects",
			"datadir", "datadir-refused", "datadir-others", "confine", "passwordless",
		},
		Tests: []string{"TestSamplesEqualPlainLoad", "TestEverythingEqualsPlainLoad", "TestDataDirectoryIsCopied"},
	},
	{
		Name:    "branch",
		Scripts: []string{"branch", "branch-events", "branch-faults", "kept"},
		Tests: []string{
			"TestBranchUnderLoad", "TestBranchFamily", "TestBranchToOneName", "TestBranchOpensNothingOfItsParent", "TestBranchHasItsOwnAccount",
			"TestBranchOfStoppedAndCrashed", "TestBranchesWaitForEachOther",
		},
	},
	{
		Name:    "mark",
		Scripts: []string{"mark", "rewind"},
		Tests:   []string{"TestRewind"},
	},
	{
		Name:    "reset",
		Scripts: []string{"db"},
		Tests:   []string{"TestKilledReset"},
	},
	{
		Name: "fault",
		Scripts: []string{
			"beyond-recovery", "broken-files", "wrong-uses", "disk-full", "full-volume", "load-full", "interrupt-build", "interrupt-run", "interrupt-up", "killed-run",
			"killed-server", "killed-supervisor", "no-room",
		},
		Tests: []string{"TestKilledServerLosesNothing", "TestKilledDirectoryIsRecovered", "TestTornPageIsMended", "TestKilledRewind", "TestNeverLeftStopped"},
	},
}

// Once are the scripts and tests that are about the machine, the command line or the
// tests themselves, where another server would show nothing new.
var Once = Suite{
	Scripts: []string{"no-server", "other-user", "weak-root", "two-registries", "two-users", "copied-home", "lost-home", "small-shm", "talk", "volume", "volume-auto", "volume-user", "bench-compare", "bench-cycle", "bench-fork", "bench-suite", "bench-output"},
	Tests: []string{"TestScripts", "TestScriptsAsOrdinaryUser", "TestMatrix", "TestSuites", "TestReadme", "TestClients", "TestClientsFromClone",
		"TestContainersShareMemory", "TestContainersShareAHome", "TestOtherMountNamespace"},
}

// Paths returns the names of the tests of a suite, as go test has them, on a server.
func (s Suite) Paths(server string) []string {
	var list []string
	prefix, scripts := "", "TestScripts/"
	if server != Servers[0] {
		prefix, scripts = "TestMatrix/"+server+"/"+s.Name+"/", ""
	}
	for _, name := range s.Scripts {
		list = append(list, prefix+scripts+name)
	}
	for _, name := range s.Tests {
		list = append(list, prefix+name)
	}
	return list
}
