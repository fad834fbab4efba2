package scenario

import (
	"slices"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/durable"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/engines"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/memory"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/numbers"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/sort"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/suite"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/tier"
)

// Kind is a scenario as it is typed.
type Kind struct {
	Name  string
	About string // in a few words
	Make  func(*lab.Lab) runner.Scenario
	// Slow says that preparing it takes minutes: it is not one of the quick ones.
	Slow bool
	// Flags are those it takes that not all do: FlagPlace, ...
	Flags []string
	// OneVolume says that all of it is on one volume, the first in RAM of those that are named.
	OneVolume bool
}

// Flags that not all scenarios take, as they are typed.
const (
	FlagPlace    = "place"
	FlagVolume   = "volume"
	FlagThreads  = "threads"
	FlagWorkload = "workload"
	FlagScale    = "scale"
	FlagDump     = "dump"
	FlagWrites   = "disk-writes"
)

// Takes says whether a flag changes anything in the scenario.
func (k Kind) Takes(flag string) bool { return slices.Contains(k.Flags, flag) }

// Scalable says whether --scale makes a scenario smaller.
func Scalable(name string) bool {
	return slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Name == name && k.Takes(FlagScale) })
}

// Kinds are the scenarios of `ramaria bench`, in the order of a report, but for SuiteKind,
// which needs a command.
var Kinds = []Kind{
	{Name: "cycle", About: "create a database, load a fixture, drop it: every way to do it, up to a reset", Make: CycleScenario, Flags: []string{FlagVolume, FlagDump}, OneVolume: true},
	{Name: "fork", About: "a fresh server with data: initialised, copied, from an image, branched", Make: ForkScenario, Flags: []string{FlagVolume, FlagScale, FlagDump}},
	{Name: "files", About: "make 1000 files of 102 KB, with and without fsync", Make: FilesScenario, Flags: placed()},
	{Name: "insert", About: "insert rows, 1000 a statement", Make: numbers.Insert, Flags: placed()},
	{Name: "update", About: "update rows by primary key, one at a time", Make: numbers.Update, Flags: placed()},
	{Name: "oltp", About: "sysbench, 1 to 64 threads: transactions a second and their p99", Make: OltpScenario, Flags: placed(FlagThreads)},
	{Name: "durable", About: "sysbench on durable instances: what it costs that nothing is lost", Make: durable.Scenario, Flags: []string{FlagVolume, FlagThreads, FlagWorkload, FlagScale, FlagWrites}, OneVolume: true},
	{Name: "recovery", About: "everything back after the RAM was lost: mysqlbinlog, ramaria up", Make: durable.Recovery, Flags: []string{FlagVolume, FlagScale}, OneVolume: true},
	{Name: "sort", About: "large sorts and temporary tables, with tmpdir in several places", Make: sort.Scenario, Flags: placed()},
	{Name: "tier", About: "one writer beyond the RAM of its file system: tmpfs, swap, wheatfs", Make: tier.Scenario, Flags: []string{FlagScale}},
	{Name: "engines", About: "the MEMORY engine against InnoDB in RAM", Make: engines.Scenario, Flags: placed()},
	{Name: "load", About: "load a dump: the client, packed, ramaria load, myloader, an image of it", Make: LoadScenario, Flags: []string{FlagVolume, FlagDump}, OneVolume: true},
	{Name: "loadlarge", About: "the same with 5 million rows, without the image", Make: LargeLoadScenario, Slow: true, Flags: []string{FlagVolume}, OneVolume: true},
	{Name: "reset", About: "put a database back to its template", Make: ResetScenario, Flags: []string{FlagVolume}, OneVolume: true},
	{Name: "run", About: "a private server around a command", Make: RunScenario},
	{Name: "fleet", About: "20 instances started at once", Make: memory.Fleet},
	{Name: "memory", About: "memory of an idle instance", Make: memory.Scenario},
	{Name: "branch", About: "snapshots, branches and rewinds of a running instance, small and of 2 GB", Make: BranchScenario, Slow: true},
	{Name: "busy", About: "branches of a server under load", Make: BusyScenario, Slow: true},
	{Name: "log", About: "what the binary log and the journal cost", Make: LogScenario, Slow: true, Flags: []string{FlagVolume}, OneVolume: true},
	{Name: "volumes", About: "sysbench on every volume", Make: VolumesScenario, Slow: true},
	{Name: "ram", About: "memory that a volume takes for 1 GB of data", Make: RAMScenario, Slow: true},
}

// placed are the flags of scenarios that compare places, and those that come to them.
func placed(more ...string) []string {
	return append([]string{FlagPlace, FlagVolume, FlagScale}, more...)
}

// SuiteKind is the scenario of the user's tests, run in one way or several.
func SuiteKind(ways ...suite.Way) Kind {
	return Kind{
		Name: "suite", About: "your own test command, on each server in turn", Flags: []string{FlagPlace, FlagVolume, FlagDump},
		Make: func(l *lab.Lab) runner.Scenario { return suite.Scenario(l, ways) },
	}
}
