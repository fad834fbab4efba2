// Package tests drives the real ramaria binary, in txtar scripts and in Go, against real
// MariaDB and MySQL servers: script/*.txtar, each a test of its own with a home of its
// own. No test may leave a process or a file of Ramaria behind.
//
// This file is the one table of all tests: Packages says how each package of the module is
// tested, Suites and Once which scripts and tests of this package there are, on which servers,
// and what of that `make test` runs. `make test-all` runs everything.
package tests

import (
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// Servers are those that everything must work on.
var Servers = servertest.Servers

// QuickResults is the first line of the results of a quick run.
const QuickResults = "# quick"

// Package is how a package is tested. TestRegistry checks that each with tests has a row.
type Package struct {
	// Path is below the module's.
	Path string
	// Race runs it under the race detector: its goroutines share memory.
	Race bool
	// Parallel is how many parallel tests run at once, if not as many as there are CPUs: they wait
	// for servers, for registries, or for tests that they run again, more than they compute.
	Parallel int
	// Least is the least number of tests in a quick run as root, subtests and skipped ones
	// included, since go test is content when a suite vanishes. Set it some way below the real one.
	Least int
	// Needed are regular expressions for tests that CI fails on when they are skipped, or gone: what
	// needs root, a server or a kernel feature that CI has. An ordinary user may skip them, loudly: who
	// is not root can neither mount nor install what is missing.
	Needed []string
	// Later are tests, in patterns as go test -skip has them, that only `make test-all` runs.
	Later []string
	// Apart are regular expressions for tests whose subtests stand alone: one that failed runs again
	// without the others. So do those that are named after a server.
	Apart []string
}

// Packages are the packages with tests. They start in this order, the longest first.
var Packages = []Package{
	{Path: "tests", Parallel: 8, Least: 200, Needed: []string{
		`TestScripts(/.*)?`,
		`TestScriptsAsOrdinaryUser`,
		`TestMatrix(/.*)?`,
		`TestRegistry(InDocs|OfPackages)?`,
		`TestEverythingEqualsPlainLoad(/.*)?`,
		`TestSamplesEqualPlainLoad(/.*)?`,
		`TestDataDirectoryIsCopied(/.*)?`,
		`TestKilledServerLosesNothing(/.*)?`,
		`TestTornPageIsMended(/.*)?`,
		`TestPages(Complete)?`,
		`TestBranch(UnderLoad|Family|ToOneName|HasItsOwnAccount|OfStoppedAndCrashed)(/.*)?`,
		`TestNeverLeftStopped(/.*)?`,
		`TestBranchesWaitForEachOther(/.*)?`,
		`Test(Killed)?Rewind(/.*)?`,
		`TestKilledReset(/.*)?`,
		`Test(Killed)?Move(OfStopped)?(/.*)?`,
		`TestExport`,
		`Test(Durable|Fence).*`,
		`TestTmpDirOutgrowsRAM(/.*)?`,
		`TestWheatKilled`,
		`TestClients(FromClone)?(/.*)?`,
		`Test(ExamplesListed|Languages(Page|/(rails|php|shell))?)`,
		`TestUI(FaultsAreSeen|Rows)?`,
		`TestBench`,
		`TestSite(FaultsAreSeen)?`,
		`Test(Install|Action|GitLab|RecipesInDocs)`,
		`TestClusterPartitions`,
	},
		// What takes minutes, what the scripts bench-* have, and clients on a second server.
		Later: []string{`TestLanguages/rust`, `TestClients/[a-z]+-.*`, `TestLanguages/[a-z]+/bench`, `TestClientsFromClone/examples/[a-z]+/bench`, `TestBench/(all|branch|busy|cycle|durable|fork|load|loadlarge|log|ram|suite|volumes)`}, Apart: []string{`TestScripts(AsOrdinaryUser)?`, `TestMatrix`, `TestMatrix/[^/]+`, `TestMatrix/[^/]+/[^/]+`, `TestClients`, `TestLanguages`}},
	{Path: "internal/reset", Race: true, Least: 400, Needed: []string{`Test.*`}},
	{
		Path: "internal/bench/scenario", Least: 62,
		// The scripts bench-* and these tests have each scenario on MariaDB.
		Later: []string{`TestOltpOnRealServers/mysql:9.7`, `TestLoadOnRealServers/mysql:9.7`},
	},
	{Path: "internal/bench/scenario/numbers", Least: 10, Needed: []string{
		`Test(SlowPlaceIsSlow|ThrottleGoesWithItsRow)`,
		`TestWrongRowFailsTheRun(/.*)?`,
	}},
	{Path: "internal/bench/scenario/sort", Least: 5, Later: []string{`TestSortOnRealServers/mysql:9.7`}},
	{Path: "internal/bench/scenario/durable", Least: 8, Later: []string{`Test(Durable|Recovery)OnRealServers/mysql:9.7`}},
	{Path: "internal/bench/scenario/engines", Least: 4, Later: []string{`TestEnginesOnRealServers/mysql:9.7`}},
	{Path: "internal/bench/scenario/suite", Least: 7},
	{Path: "internal/bench/scenario/memory", Least: 1},
	{Path: "internal/bench/scenario/tier", Least: 4},
	{Path: "internal/pool", Race: true, Least: 130, Needed: []string{`Test.*`}},
	{Path: "internal/load", Race: true, Least: 180, Needed: []string{`Test.*`}},
	{Path: "internal/template", Race: true, Least: 100, Needed: []string{`Test.*`}},
	{Path: "internal/dbconn", Least: 26, Needed: []string{`Test.*`}},
	{Path: "internal/software", Race: true, Least: 80, Needed: []string{
		`TestRealPackages`,
		`TestRealPackagesWithoutRoot`,
		`TestRealSuites(Run)?(/.*)?`,
		`TestFetchDiskFull(/.*)?`,
	}},
	{Path: "internal/server", Race: true, Least: 80, Needed: []string{
		`TestFreeze.*`,
	}},
	{Path: "tests/differential", Parallel: 4, Least: 4, Needed: []string{`Test.*`}},
	{Path: "tests/random", Parallel: 4, Least: 10, Needed: []string{`Test.*`}},
	// TestCorpus is what make corpus runs.
	{Path: "tests/corpus", Least: 8, Needed: []string{`Test(Samples(/.*)?|FaultsAreSeen)`}},
	{Path: "tests/contract", Least: 7, Needed: []string{`Test.*`}},
	{Path: "internal/dump", Least: 400, Needed: []string{`Test.*`}},
	{Path: "internal/backups", Least: 3, Needed: []string{`Test.*`}},
	{Path: "internal/dumpdir", Least: 40, Needed: []string{`Test.*`}},
	{Path: "internal/fit", Least: 6, Needed: []string{`Test.*`}},
	{Path: "internal/dumpfile", Least: 90, Needed: []string{`Test.*`}},
	{Path: "internal/dumpfile/web", Least: 20, Needed: []string{`Test.*`}},
	{Path: "internal/pack", Least: 80, Needed: []string{`Test.*`}},
	{Path: "internal/dumper", Least: 3, Needed: []string{`Test.*`}},
	{Path: "internal/parts", Least: 3, Needed: []string{`Test.*`}},
	{Path: "ramariatest", Race: true, Least: 40, Needed: []string{`Test.*`}},
	{Path: "internal/verify", Least: 25, Needed: []string{`TestUnits`}},
	{Path: "internal/xbstream", Least: 2},
	{Path: "internal/volume", Least: 150, Needed: []string{
		`TestAsOrdinaryUser`,
		`TestFull(/.*)?`,
		`TestMounted.*`,
	}},
	{Path: "internal/wheatfs", Race: true, Least: 40, Needed: []string{`Test.*`}},
	{Path: "internal/sys", Race: true, Least: 55, Needed: []string{
		`TestRestrictSelf(Ports|Signals)?`, // and TestRestrictSelfSockets, which takes Linux 7.1
		`TestLiveCopy.*`,
		`TestPlace`,
	}},
	{Path: "internal/image", Race: true, Least: 60},
	{Path: "internal/instance", Least: 33},
	{Path: "internal/cluster", Least: 4, Needed: []string{`Test.*`}},
	{Path: "internal/supervisor", Race: true, Least: 11, Needed: []string{`TestSnapshotOutside(/.*)?`, `TestTmpDirWithoutWheatfs`}},
	{Path: "internal/handover", Least: 2},
	{Path: "internal/datafiles", Least: 8, Needed: []string{`Test.*`}},
	{Path: "internal/room", Least: 20, Needed: []string{`Test.*`}},
	{Path: "internal/binlog", Least: 100, Needed: []string{`Test.*`}},
	{Path: "internal/repeatable", Least: 200, Needed: []string{`Test.*`}},
	{Path: "internal/archive", Least: 13, Needed: []string{`Test.*`}},
	{Path: "internal/basebackup", Race: true, Least: 20, Needed: []string{`Test.*`}},
	{Path: "internal/durable", Least: 5, Needed: []string{`Test.*`}},
	{Path: "internal/bucket", Race: true, Least: 30, Needed: []string{`Test.*`}},
	{Path: "internal/bucket/s3", Race: true, Least: 12, Needed: []string{`Test.*`}},
	{Path: "internal/shipper", Race: true, Least: 2, Needed: []string{`Test.*`}},
	{Path: "internal/xa", Race: true, Least: 6, Needed: []string{`Test.*`}},
	{
		Path: "internal/replay", Parallel: 4, Least: 30, Needed: []string{`Test.*`},
		Later: []string{
			`TestReplayOfLargeTransaction/mysql:9.7`, `TestReplayOfOwnServerID/mysql:9.7`, `TestReplayOfCutLog/mysql:9.7`,
			`TestReplayIsInterrupted/mysql:9.7`, `TestMissingTransactionIsSeen/mysql:9.7`,
		},
	},
	{Path: "internal/bench/report", Least: 34, Needed: []string{
		`TestInBrowser(/.*)?`,
		`TestLayoutFaultsAreSeen(/.*)?`,
	}},
	{Path: "internal/bench/lab", Least: 7, Needed: []string{`TestRemoveWaitsForDevices`}},
	{Path: "internal/fixture", Least: 20},
	{Path: "internal/bench/runner", Least: 120, Needed: []string{`TestThrottleAsOrdinaryUser`}},
	{Path: "internal/api", Race: true, Least: 100},
	{Path: "internal/engine", Race: true, Least: 6},
	{Path: "internal/cli", Least: 26},
	{Path: "internal/ui", Race: true, Least: 20, Needed: []string{`Test.*`}},
	{Path: "internal/view", Least: 1},
	{Path: "internal/host", Least: 45},
	{Path: "internal/memo", Least: 7},
	{Path: "internal/network", Least: 3, Needed: []string{`Test.*`}},
	{Path: "internal/metrics", Least: 1},
	{Path: "internal/exporter", Least: 2},
	{Path: "internal/front", Race: true, Least: 4},
	{Path: "internal/lobby", Race: true, Least: 3},
	{Path: "internal/progress", Least: 4},
	{Path: "internal/adopt", Least: 5},
	{Path: "internal/selfsigned", Least: 1},
	{Path: "internal/image/remote", Race: true, Least: 5},
	{Path: "internal/bucket/storetest", Least: 1},
	{Path: "internal/service", Least: 7, Needed: []string{`Test.*`}},
	{Path: "client", Race: true, Least: 15},
	{Path: "internal/volume/volumetest", Least: 15},
	{Path: "internal/server/servertest", Least: 12},
	{Path: "packaging/man", Least: 1},
	{Path: "packaging/notices", Least: 2, Needed: []string{`Test.*`}},
	{Path: "packaging/pictures", Least: 4},
	{Path: "packaging/suites", Least: 1, Needed: []string{`Test.*`}},
	{Path: "tests/layers", Least: 12, Needed: []string{`Test.*`}},
	{Path: "tests/leftovers", Least: 20, Needed: []string{
		`TestCatches(Mount|LoopDevice)`,
		`TestCatches(Volume|Process)(/.*)?`,
	}},
	{Path: "tests/matrix", Least: 7},
	{Path: "tests/gotest", Least: 70},
	{Path: "tests/tearing", Least: 1},
}

// Suite is a row of the grid that tests/matrix prints.
type Suite struct {
	Name string
	// Scripts are files of script/, without .txtar; Tests are functions of this package.
	Scripts, Tests []string
	// Versions are those of them that a quick run has on the last server of each flavour too; Flavours
	// those that it has besides where the flavour is another than the first server's.
	Versions, Flavours []string
}

// Suites are those that run on every server.
var Suites = []Suite{
	{
		Name: "lifecycle",
		Scripts: []string{
			"lifecycle", "run", "socket", "settings", "set-refused", "other-flags", "chosen", "names", "at-once", "account-removed", "log-off", "scratch", "wheatfs", "buffer-pool", "reboot", "callers", "env", "quit", "foreground", "large-log",
			"odd-home", "new-home", "logout", "taken-away", "cleared-cache",
		},
		Tests:    []string{"TestLoginOverTCP", "TestApplicationCannotBlindTheSupervisor", "TestTmpDirOutgrowsRAM"},
		Versions: []string{"lifecycle", "settings"},
		Flavours: []string{
			"set-refused", "account-removed", "log-off", "scratch", "buffer-pool", "env",
			"TestLoginOverTCP", "TestApplicationCannotBlindTheSupervisor", "TestTmpDirOutgrowsRAM",
		},
	},
	{
		Name: "image",
		Scripts: []string{
			"image", "image-save", "image-remote", "from-instance", "dumps", "dump", "dump-dir", "foreign-dirs", "mydumper", "dump-pack", "load", "fit", "template-dumps", "other-flavour", "bad-dump", "cut-dump", "client-command", "sources", "exec", "objects",
			"datadir", "datadir-refused", "datadir-others", "confine", "passwordless", "loaded-accounts", "empty-dump", "managed-dump", "wrapped-dump", "verify", "verify-files",
		},
		Tests:    []string{"TestSamplesEqualPlainLoad", "TestEverythingEqualsPlainLoad", "TestDataDirectoryIsCopied"},
		Versions: []string{"image", "objects", "TestEverythingEqualsPlainLoad"},
		Flavours: []string{"load", "fit", "dumps", "dump", "dump-dir", "foreign-dirs", "mydumper", "template-dumps", "other-flavour", "client-command", "datadir", "datadir-refused", "confine", "passwordless", "loaded-accounts", "managed-dump", "wrapped-dump", "verify", "verify-files", "TestDataDirectoryIsCopied"},
	},
	{
		Name:    "branch",
		Scripts: []string{"branch", "branch-events", "branch-faults", "kept"},
		Tests: []string{
			"TestBranchUnderLoad", "TestBranchFamily", "TestBranchToOneName", "TestBranchOpensNothingOfItsParent", "TestBranchHasItsOwnAccount",
			"TestBranchOfStoppedAndCrashed", "TestBranchesWaitForEachOther",
		},
		Versions: []string{"branch"},
		Flavours: []string{"branch-events", "TestBranchHasItsOwnAccount"},
	},
	{
		Name:     "mark",
		Scripts:  []string{"mark", "rewind"},
		Tests:    []string{"TestRewind"},
		Versions: []string{"rewind"},
		Flavours: []string{"mark"},
	},
	{
		Name:     "move",
		Scripts:  []string{"move", "move-faults", "move-durable", "when-full", "device-atomic", "export"},
		Tests:    []string{"TestMove", "TestKilledMove", "TestKilledMoveOfStopped", "TestExport"},
		Flavours: []string{"move", "move-durable", "export", "TestMove", "TestExport"},
	},
	{
		Name:    "durable",
		Scripts: []string{"durable", "durable-later", "durable-other", "durable-promise", "password-changed", "account-kept", "account-dropped", "durable-killed", "durable-xa", "durable-keyless", "durable-memory", "durable-engines", "restore", "restore-refused", "service", "adopt", "bucket", "bucket-faults", "archive-tail", "accept-loss"},
		Tests: []string{
			"TestDurable", "TestDurableEverythingWaits", "TestDurableArchiveTaken", "TestDurableDamage", "TestDurableConnections", "TestDurableShutdown", "TestDurableStuckSession", "TestDurableResetMaster",
			"TestDurableAtOnce", "TestDurableDisk", "TestDurableEqualsTwin", "TestRestoreAnyMoment", "TestTrapDataBehindLog", "TestTrapDataExchanged", "TestDurableUnlogged", "TestDurableBesideLog", "TestDurableBlinded", "TestDurableBlindRole", "TestDurableBlindCalls", "TestDurableBlindRoutine", "TestDurableUnseen", "TestDurableLookView", "TestDurableManifestUnwritten", "TestDurableBlindLost", "TestDurableEvents",
			"TestFence", "TestFenceUnanswered", "TestFenceBesideAccounts", "TestAccountsBesideAcks", "TestFenceOfInterval", "TestFenceRestored", "TestFenceIsNeeded", "TestFenceStatements", "TestFenceAmongDDL", "TestFenceOfChangedTable", "TestTableFromSelectKilled", "TestTableFromSelectInBase", "TestPartitionsAlone", "TestAccountsKilled", "TestXAFormats", "TestXAFormatsInBase", "TestOnePhaseInBase", "TestOnePhaseBehindFence", "TestOnePhaseLoad", "TestDurableSlowed",
		},
		Versions: []string{"durable", "restore", "TestDurableBlinded"},
		Flavours: []string{"durable-promise", "password-changed", "account-kept", "account-dropped", "durable-killed", "durable-xa", "durable-keyless", "durable-memory", "durable-engines", "restore-refused", "bucket", "TestDurable", "TestDurableEverythingWaits", "TestDurableConnections", "TestDurableShutdown", "TestDurableStuckSession", "TestDurableResetMaster", "TestDurableEqualsTwin", "TestTrapDataBehindLog", "TestDurableUnlogged", "TestDurableBesideLog", "TestDurableBlindRole", "TestDurableBlindCalls", "TestDurableBlindRoutine", "TestDurableUnseen", "TestDurableLookView", "TestDurableBlindLost", "TestDurableEvents", "TestFence", "TestFenceUnanswered", "TestFenceBesideAccounts", "TestAccountsBesideAcks", "TestFenceIsNeeded", "TestFenceAmongDDL", "TestFenceOfChangedTable", "TestTableFromSelectKilled", "TestTableFromSelectInBase", "TestAccountsKilled", "TestXAFormats", "TestXAFormatsInBase", "TestOnePhaseInBase", "TestOnePhaseLoad", "TestDurableSlowed"},
	},
	{
		Name:     "replica",
		Scripts:  []string{"replica", "replica-sync", "replica-full", "hand-over"},
		Tests:    []string{"TestReplicaKilled", "TestSyncOutlivesSource", "TestReplicaOfPlain", "TestReplicaAbroad", "TestReplicaFaults", "TestSyncForeign", "TestLostAcknowledgement", "TestHandOver", "TestHandOverPutBack", "TestReplicaDiverges", "TestReplicaOfPlainDiverges", "TestHandOverDiverges"},
		Flavours: []string{"replica", "replica-sync", "replica-full", "hand-over", "TestReplicaKilled", "TestSyncOutlivesSource", "TestReplicaOfPlain", "TestReplicaAbroad", "TestReplicaFaults", "TestSyncForeign", "TestLostAcknowledgement", "TestHandOver", "TestHandOverPutBack", "TestReplicaDiverges", "TestReplicaOfPlainDiverges", "TestHandOverDiverges"},
	},
	{
		Name:     "cluster",
		Scripts:  []string{"cluster"},
		Tests:    []string{"TestClusterKills", "TestClusterDeaf", "TestClusterPowerCut", "TestClusterMachines", "TestClusterPartitions"},
		Flavours: []string{"cluster", "TestClusterKills", "TestClusterDeaf", "TestClusterPowerCut", "TestClusterMachines", "TestClusterPartitions"},
	},
	{
		Name:     "reset",
		Scripts:  []string{"db", "odd-settings", "small-packet"},
		Tests:    []string{"TestKilledReset", "TestFront", "TestFrontSession", "TestUpFront", "TestAPIListen"},
		Versions: []string{"db", "TestFront", "TestFrontSession"},
		Flavours: []string{"odd-settings", "small-packet", "TestAPIListen"},
	},
	{
		Name: "fault",
		Scripts: []string{
			"beyond-recovery", "broken-files", "wrong-uses", "disk-full", "full-volume", "room", "memory-limit", "swap", "load-full", "load-killed", "interrupt-build", "interrupt-run", "interrupt-up", "killed-run",
			"killed-server", "killed-supervisor", "no-room",
		},
		Tests:    []string{"TestKilledServerLosesNothing", "TestKilledDirectoryIsRecovered", "TestTornPageIsMended", "TestKilledRewind", "TestNeverLeftStopped", "TestWheatKilled"},
		Versions: []string{"killed-server"},
		Flavours: []string{"beyond-recovery", "disk-full", "load-full", "TestKilledDirectoryIsRecovered", "TestTornPageIsMended"},
	},
}

// Once are the scripts and tests that are about the machine, the command line or the
// tests themselves, where another server would show nothing new.
var Once = Suite{
	Scripts: []string{"exporter", "no-server", "other-user", "weak-root", "two-registries", "two-users", "copied-home", "lost-home", "same-words", "small-shm", "talk", "volume", "volume-auto", "volume-user", "bench-compare", "bench-cycle", "bench-durable", "bench-disk-writes", "bench-fork", "bench-suite", "bench-output", "ui-top"},
	Tests: []string{"TestScripts", "TestScriptsAsOrdinaryUser", "TestMatrix", "TestRegistry", "TestRegistryInDocs", "TestRegistryOfPackages", "TestPicked", "TestMeant", "TestInstall", "TestInstallRedirected", "TestInstallSentOn", "TestNoLinkFollowed", "TestFollowSeen", "TestAction", "TestGitLab", "TestRecipesInDocs", "TestVerifyPhysical", "TestPages", "TestPagesComplete", "TestMinutesOfTargets", "TestDriverSuites", "TestClients", "TestBench", "TestClientsFromClone", "TestLanguages", "TestLanguagesPage", "TestExamplesListed", "TestLoginBesideStrangers",
		"TestContainersShareMemory", "TestContainersShareAHome", "TestHomeElsewhere", "TestOtherMountNamespace", "TestUI", "TestUIFaultsAreSeen", "TestUIRows", "TestSite", "TestSiteFaultsAreSeen"},
}

// OrdinaryUser are the scripts that a quick run has as an ordinary user too, when root runs it:
// the main path, and where rights, places or accounts make a difference.
var OrdinaryUser = []string{
	"lifecycle", "run", "env", "logout", "odd-home", "new-home", "image", "datadir", "confine", "passwordless", "branch", "rewind", "restore", "restore-refused", "db", "wrong-uses", "disk-full",
	"interrupt-run", "killed-run", "killed-supervisor", "lost-home", "no-server", "small-shm", "volume-user", "durable", "hand-over",
}

// On returns what of a suite runs on a server.
func (s Suite) On(server string, quick bool) (scripts, tests []string) {
	if server == Servers[0] || !quick {
		return s.Scripts, s.Tests
	}
	if !lastOfFlavour(server) {
		return nil, nil
	}
	pick := s.Versions
	if flavour(server) != flavour(Servers[0]) {
		pick = slices.Concat(s.Versions, s.Flavours)
	}
	left := func(name string) bool { return !slices.Contains(pick, name) }
	return slices.DeleteFunc(slices.Clone(s.Scripts), left), slices.DeleteFunc(slices.Clone(s.Tests), left)
}

// lastOfFlavour reports whether no later version of a server's flavour is tested.
func lastOfFlavour(server string) bool {
	after := Servers[slices.Index(Servers, server)+1:]
	return !slices.ContainsFunc(after, func(other string) bool { return flavour(other) == flavour(server) })
}

func flavour(server string) string {
	name, _, _ := strings.Cut(server, ":")
	return name
}

// Paths returns the names of the tests of a suite, as go test has them, on a server.
func (s Suite) Paths(server string, quick bool) []string {
	var list []string
	prefix, scripts := "", "TestScripts/"
	if server != Servers[0] {
		prefix, scripts = "TestMatrix/"+server+"/"+s.Name+"/", ""
	}
	ofScripts, ofTests := s.On(server, quick)
	for _, name := range ofScripts {
		list = append(list, prefix+scripts+name)
	}
	for _, name := range ofTests {
		list = append(list, prefix+name)
	}
	return list
}
