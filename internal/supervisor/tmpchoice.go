package supervisor

import (
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// tmpKind is what the temporary files of a server lie in.
type tmpKind string

const (
	tmpOwn   tmpKind = "directory" // of the instance's, in the volume or below --tmpdir
	tmpTmpfs tmpKind = "tmpfs"
	tmpWheat tmpKind = "wheatfs"
)

// tmpFacts are what the choice rests on.
type tmpFacts struct {
	// asked is --tmpdir.
	asked string
	kind  volume.Kind
	// tmpfs is the size, in bytes, that a tmpfs would have, and data that of the data: a sort or an ALTER TABLE may
	// want as much again.
	tmpfs, data int64
	// noWheat is why a wheatfs cannot be had, nil if it can, and slow why the disk of a volume on disk is slow, "" if
	// it is not.
	noWheat error
	slow    string
}

// chooseTmp says what temporary files are to lie in, and why.
func chooseTmp(f tmpFacts) (kind tmpKind, why string) {
	mountedTmpfs := f.kind == volume.XFS || f.kind == volume.Zram
	switch {
	case f.asked == instance.OwnTmpfs && mountedTmpfs:
		return tmpTmpfs, "as --tmpdir says"
	case f.asked == instance.OwnTmpfs:
		return tmpOwn, "volume " + string(f.kind) + " is as fast as a tmpfs"
	case f.asked != "" && !instance.IsOwnTmpDir(f.asked):
		return tmpOwn, "as --tmpdir says"
	case f.asked != "":
		return tmpWheat, "as --tmpdir says"
	case f.kind == volume.Disk && f.slow == "":
		return tmpOwn, "the page cache is as fast as a wheatfs while memory is free and the disk is fast"
	case f.kind == volume.Disk:
		return orElse(f, tmpOwn, "the disk is slow: "+f.slow)
	case f.tmpfs >= f.data && mountedTmpfs:
		return tmpTmpfs, fmt.Sprintf("it holds as much as the data, %s", volume.FormatBytes(f.data))
	case f.tmpfs >= f.data:
		return tmpOwn, fmt.Sprintf("the volume has room for as much as the data, %s", volume.FormatBytes(f.data))
	case mountedTmpfs:
		return orElse(f, tmpTmpfs, fmt.Sprintf("a tmpfs would hold %s, and the data are %s", volume.FormatBytes(f.tmpfs), volume.FormatBytes(f.data)))
	}
	return orElse(f, tmpOwn, fmt.Sprintf("the volume has room for %s, and the data are %s", volume.FormatBytes(f.tmpfs), volume.FormatBytes(f.data)))
}

// orElse is a wheatfs for a reason, or what there is instead.
func orElse(f tmpFacts, kind tmpKind, reason string) (tmpKind, string) {
	if f.noWheat == nil {
		return tmpWheat, reason
	}
	cannot, _, _ := strings.Cut(f.noWheat.Error(), "\n")
	return kind, reason + "; " + cannot
}
