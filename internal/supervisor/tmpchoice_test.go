package supervisor

import (
	"errors"
	"testing"

	"github.com/ramaria-db/ramaria/internal/volume"
)

func TestChooseTmp(t *testing.T) {
	const mb = 1 << 20
	cannot := errors.New("wheatfs cannot be had here: there is no mkfs.ext4\nhint: install e2fsprogs")
	for _, c := range []struct {
		facts tmpFacts
		kind  tmpKind
		why   string
	}{
		{tmpFacts{kind: volume.XFS, tmpfs: 500 * mb, data: 100 * mb}, tmpTmpfs, "it holds as much as the data, 100 MB"},
		{tmpFacts{kind: volume.Zram, tmpfs: 500 * mb, data: 600 * mb}, tmpWheat, "a tmpfs would hold 500 MB, and the data are 600 MB"},
		{tmpFacts{kind: volume.XFS, tmpfs: 500 * mb, data: 600 * mb, noWheat: cannot}, tmpTmpfs, "a tmpfs would hold 500 MB, and the data are 600 MB; wheatfs cannot be had here: there is no mkfs.ext4"},
		{tmpFacts{kind: volume.Shm, tmpfs: 500 * mb, data: 100 * mb}, tmpOwn, "the volume has room for as much as the data, 100 MB"},
		{tmpFacts{kind: volume.Shm, tmpfs: 500 * mb, data: 600 * mb}, tmpWheat, "the volume has room for 500 MB, and the data are 600 MB"},
		{tmpFacts{kind: volume.Shm, tmpfs: 500 * mb, data: 600 * mb, noWheat: cannot}, tmpOwn, "the volume has room for 500 MB, and the data are 600 MB; wheatfs cannot be had here: there is no mkfs.ext4"},
		{tmpFacts{kind: volume.Disk, tmpfs: 500 * mb, data: 600 * mb}, tmpOwn, "the page cache is as fast as a wheatfs while memory is free and the disk is fast"},
		{tmpFacts{kind: volume.Disk, slow: "it rotates"}, tmpWheat, "the disk is slow: it rotates"},
		{tmpFacts{kind: volume.Disk, slow: "it rotates", noWheat: cannot}, tmpOwn, "the disk is slow: it rotates; wheatfs cannot be had here: there is no mkfs.ext4"},
		{tmpFacts{asked: "/srv/tmp", kind: volume.XFS, data: 600 * mb}, tmpOwn, "as --tmpdir says"},
		{tmpFacts{asked: "tmpfs", kind: volume.XFS, data: 600 * mb}, tmpTmpfs, "as --tmpdir says"},
		{tmpFacts{asked: "tmpfs", kind: volume.Shm}, tmpOwn, "volume shm is as fast as a tmpfs"},
		{tmpFacts{asked: "wheatfs:1G", kind: volume.Disk}, tmpWheat, "as --tmpdir says"},
		{tmpFacts{asked: "wheatfs", kind: volume.XFS, noWheat: cannot}, tmpWheat, "as --tmpdir says"}, // and fails
	} {
		if kind, why := chooseTmp(c.facts); kind != c.kind || why != c.why {
			t.Errorf("%+v: %s, %q", c.facts, kind, why)
		}
	}
}
