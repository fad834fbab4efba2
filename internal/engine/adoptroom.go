package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// planDurability settles where the archive is.
func (e *Engine) planDurability(_ context.Context, p *AdoptPlan) error {
	if len(p.spec.Buckets()) > 0 {
		p.against("--archive with a bucket: adopt first, and then ramaria down %[1]s && ramaria up %[1]s --archive DIR --archive s3:...", p.Instance)
	}
	p.Archive = e.archiveDir(p.Instance, p.spec)
	if err := e.checkDurable(p.Instance, p.spec, false); err != nil {
		text, hint := splitHint(err)
		p.against("%s (%s)", text, hint)
	}
	if p.Archive == "" {
		p.noteThat("without --durable a power cut takes all that was written since the adoption")
	}
	return nil
}

// planData looks at the files.
func (e *Engine) planData(_ context.Context, p *AdoptPlan) error {
	filter, err := durable.StockFilter(p.DataDir)
	if err != nil {
		return err
	}
	now := time.Now()
	var system int64
	err = filepath.WalkDir(p.DataDir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // a server is at work there
			return nil
		}
		if err != nil || path == p.DataDir {
			return err
		}
		rel, err := filepath.Rel(p.DataDir, path)
		if err != nil {
			return err
		}
		skip, err := filter(rel, d.Type())
		if err != nil {
			text, _ := splitHint(err)
			p.against("%s", text)
			return nil
		}
		fi, err := d.Info()
		if skip || err != nil || !fi.Mode().IsRegular() {
			return nil //nolint:nilerr // gone
		}
		size := sys.DiskBytes(fi)
		p.DataBytes += size
		if now.Sub(fi.ModTime()) < recentChange {
			p.HotBytes += size
		}
		if rel == "ibdata1" {
			system = size
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("adopt %s: %w\nhint: root may read it", p.DataDir, err)
	}
	p.NeedBytes = p.DataBytes + instance.StartRoom
	if p.live == nil {
		p.DownSeconds = float64(p.DataBytes)/rereads + restart.Seconds()
		return nil
	}
	p.DownSeconds = float64(p.HotBytes)/rereads + restart.Seconds()
	var tables int64
	for _, d := range p.live.Databases {
		tables += d.Bytes
	}
	if system > 1<<30 && system > p.DataBytes/2 {
		p.noteThat("ibdata1 has %s, and tables and indexes %s in all: a dump that is loaded again takes about that: mariadb-dump or mysqldump --all-databases, then ramaria up %s --from DUMP", volume.FormatBytes(system), volume.FormatBytes(tables), p.Instance)
	}
	return nil
}

// planRoom looks whether it fits.
func (e *Engine) planRoom(ctx context.Context, p *AdoptPlan) error {
	spec, err := volume.ParseSpec(p.spec.Volume)
	if err != nil {
		return RequestError{err}
	}
	o := e.Opener()
	kind := spec.Kind
	if kind == volume.Auto {
		var why string
		if kind, why, err = o.Foresee(ctx); err != nil {
			return err
		}
		p.noteThat("%s", why)
	}
	p.Volume = string(kind)
	there, err := o.There(kind)
	if err != nil {
		return err
	}
	if there {
		u, err := o.At(kind).Usage()
		if err != nil {
			return err
		}
		p.FreeBytes = u.Free
	} else if p.FreeBytes, err = e.newVolumeRoom(kind, spec.Size); err != nil {
		return err
	}
	if p.NeedBytes <= p.FreeBytes {
		return nil
	}
	text := fmt.Sprintf("it needs %s in volume %s, where %s are free", volume.FormatBytes(p.NeedBytes), kind, volume.FormatBytes(p.FreeBytes))
	m, err := e.Host.Memory()
	if err != nil {
		return err
	}
	if room, _ := m.Room(); !there && spec.Size == 0 && p.NeedBytes < room*9/10 {
		text += fmt.Sprintf(": --volume %s:%s makes a larger one", kind, sizeWord(p.NeedBytes*5/4))
	} else if p.live != nil {
		var tables int64
		for _, d := range p.live.Databases {
			tables += d.Bytes
		}
		text += fmt.Sprintf(": more memory, --volume zram, which compresses, or the same data loaded from a dump, which takes about %s", volume.FormatBytes(tables))
	}
	p.against("%s", text)
	return nil
}

// planArchiveRoom looks whether the archive's disk takes another base backup. The first is the old data directory itself.
func (e *Engine) planArchiveRoom(_ context.Context, p *AdoptPlan) error {
	if p.Archive == "" {
		return nil
	}
	fsys, err := statAbove(p.Archive)
	if err != nil {
		return err
	}
	if need := p.DataBytes + durable.LowRoom(fsys.Size); fsys.Avail < need {
		p.noteThat("%s has %s free, and its next base backup may need %s: until there is room, the log only grows, and so does what a recovery takes", p.Archive, volume.FormatBytes(fsys.Avail), volume.FormatBytes(need))
	}
	return nil
}

// newVolumeRoom is what a volume of a kind will have that is not there yet.
func (e *Engine) newVolumeRoom(kind volume.Kind, size int64) (int64, error) {
	if kind == volume.Disk {
		fsys, err := statAbove(e.Places.Disk)
		return fsys.Avail, err
	}
	m, err := e.Host.Memory()
	if err != nil {
		return 0, err
	}
	if size == 0 {
		size = m.Total / volume.DefaultRAMShare
	}
	room, _ := m.Room()
	if kind == volume.Shm {
		fsys, err := statAbove(e.Places.Shm)
		if err != nil {
			return 0, err
		}
		room = min(room, fsys.Avail)
	}
	return min(size, room), nil
}

// sizeWord writes a size as --volume takes it, in whole gigabytes.
func sizeWord(bytes int64) string { return fmt.Sprintf("%dG", (bytes+1<<30-1)>>30) }
