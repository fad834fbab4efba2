package scenario

import (
	"fmt"
	"math"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Names of the rows that conclusions refer to.
const (
	RowStart         = "bare server start"
	RowSnapshotSmall = "snapshot, small"
	RowSnapshotLarge = "snapshot, 2 GB"
	RowBranchSmall   = "branch, small"
	RowBranchLarge   = "branch, 2 GB"
	RowUpSmall       = "up from a hot image, small"
	RowUpLarge       = "up from a hot image, 2 GB"
	RowRewindLarge   = "mark + rewind, 2 GB"
	RowPause         = "pause of the parent"
	RowReady         = "branch ready"
)

// branchKind is the volume of the branch scenarios.
const branchKind = volume.XFS

// branchSettings names both of the data sets.
func branchSettings(l *lab.Lab) map[string]string {
	settings := l.Settings()
	settings["data"] = "small: " + settings["data"] + "; large: " + lab.LargeData.String()
	return settings
}

// BranchScenario measures snapshots, branches and rewinds of idle instances, small (the
// fixture) and of 2 GB, on volume xfs.
func BranchScenario(l *lab.Lab) runner.Scenario {
	small, large := smallParent(l, branchKind), largeParent(l, branchKind)
	return runner.Scenario{
		Name: "branch", Rounds: 11, Conclusion: branchConclusion, Title: "idle instances on volume xfs", Unit: runner.Seconds, Settings: branchSettings(l), Beside: lab.FsyncBeside(),
		Memory: lab.LargeData.Memory() + 3*l.ResidentBytes(),
		Cases: lab.WithStorage(l.VolumeStorage(branchKind),
			startedRow(l.Fixture(), branchKind), small.snapshot(RowSnapshotSmall), large.snapshot(RowSnapshotLarge), small.branch(RowBranchSmall), large.branch(RowBranchLarge),
			small.up(RowUpSmall), large.up(RowUpLarge), large.rewind(RowRewindLarge),
		),
	}
}

// branchConclusion says what a branch costs beyond what is inevitable, and what the
// size of the data does.
func branchConclusion(r *runner.Result) string {
	m := medians(r)
	over := m[RowBranchLarge] - m[RowSnapshotLarge] - m[RowStart]
	larger := m[RowUpLarge] / m[RowUpSmall]
	if math.IsNaN(over) || math.IsNaN(larger) {
		return ""
	}
	return fmt.Sprintf("a branch of 2 GB takes %s its snapshot and a bare start; up from 2 GB takes %.2f times as long as from the small image.", beyond(over), larger)
}
