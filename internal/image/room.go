package image

import (
	"context"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/ramaria-db/ramaria/internal/dumpdir"
	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// baseRoom is what an empty server and the working files of a build take.
	baseRoom = 160 << 20
	// minRoom is the room at which a build is given up, before the server meets a
	// full volume in the middle of a write.
	minRoom = 16 << 20
	// roomInterval is how often a build looks at the room.
	roomInterval = 100 * time.Millisecond
	// packedRatio is how much text a compressed dump is taken to hold per byte.
	packedRatio = 4
)

// checkRoom makes room for the image by removing old ones, and refuses to begin
// when it cannot fit. What a dump takes once loaded is an estimate from below: as
// much as its text.
func (b *build) checkRoom(ctx context.Context) error {
	need, err := b.estimate(ctx)
	if err != nil {
		return err
	}
	if err := b.evict(ctx, need); err != nil {
		return err
	}
	return volume.CheckRoom(b.Volume, need, b.working())
}

func (b *build) estimate(ctx context.Context) (int64, error) {
	need := int64(baseRoom)
	if b.trial != nil && b.trial.Fill != nil {
		return need + b.trial.Need, nil
	}
	for _, s := range b.inputs {
		switch s.kind {
		case kindDump:
			if s.dir {
				d, err := dumpdir.Open(s.path, io.Discard)
				if err != nil {
					return 0, err
				}
				need += d.Bytes + d.Packed*(packedRatio-1)
				if err := d.Close(); err != nil {
					return 0, err
				}
				continue
			}
			fi, err := os.Stat(s.path)
			if err != nil {
				return 0, err
			}
			size := fi.Size()
			if dumpfile.Packed(s.path) {
				size *= packedRatio
			}
			need += size
		case kindDataDir:
			err := walkDataDir(s.path, func(_ string, d fs.DirEntry) error {
				fi, err := d.Info()
				if err == nil && d.Type().IsRegular() {
					need += sys.DiskBytes(fi) // the copy keeps holes
				}
				return err
			})
			if err != nil {
				return 0, err
			}
		case kindImage:
			if m, err := b.look(ctx, s.path); err == nil {
				need += m.Size
			}
		case kindExec:
		case kindInstance: // see checkInstanceRoom
		}
	}
	return need, nil
}

// watchRoom returns a context that is cancelled, with a NoRoomError as its cause,
// when the volume fills up. Call stop when the build is over.
func (b *build) watchRoom(ctx context.Context) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(roomInterval)
		defer tick.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-tick.C:
				if err := b.checkMinRoom(); err != nil {
					cancel(err)
					return
				}
			}
		}
	}()
	return watched, func() {
		cancel(nil)
		<-done
	}
}

// checkMinRoom returns a NoRoomError when too little is left to go on.
func (b *build) checkMinRoom() error {
	return volume.CheckRoom(b.Volume, minRoom, b.working())
}
