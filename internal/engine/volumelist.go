package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// VolumeListing describes a volume of this home, sizes in bytes; see docs/json.md, volume ls.
type VolumeListing struct {
	Kind      volume.Kind  `json:"kind"`
	Dir       string       `json:"dir"`
	Size      int64        `json:"size"`
	Used      int64        `json:"used"`
	Free      int64        `json:"free"`
	Bound     volume.Bound `json:"bound,omitempty"`
	Memory    int64        `json:"memory"`
	Instances []string     `json:"instances"`
	Images    []string     `json:"images"`
	// Error says why the other fields are unknown.
	Error string `json:"error,omitempty"`
}

// ListVolumes returns the volumes of this home. For a volume that has failed it gives the
// reason.
func (e *Engine) ListVolumes(ctx context.Context) []VolumeListing {
	all := []VolumeListing{}
	for _, kind := range e.KindsThere() {
		l := VolumeListing{Kind: kind, Dir: e.Opener().At(kind).Dir(), Instances: []string{}, Images: []string{}}
		if err := e.listVolume(ctx, &l); err != nil {
			l.Error = err.Error()
		}
		all = append(all, l)
	}
	return all
}

// listVolume fills in what a volume of a kind holds.
func (e *Engine) listVolume(ctx context.Context, l *VolumeListing) error {
	v, err := e.Opener().Open(ctx, volume.Spec{Kind: l.Kind})
	if err != nil {
		return err
	}
	u, err := v.Usage()
	if err != nil {
		return err
	}
	l.Size, l.Used, l.Free, l.Bound, l.Memory = u.Size, u.Used, u.Free, u.Bound, u.Memory
	entries, err := os.ReadDir(filepath.Join(v.Dir(), "instances"))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if r, err := e.Registry.Get(entry.Name()); err == nil && r.Front == filepath.Join(v.Dir(), "instances", entry.Name()) {
			continue // it was moved to another volume, and only its sockets stayed
		}
		l.Instances = append(l.Instances, entry.Name())
	}
	s, err := e.Images(v)
	if err != nil {
		return err
	}
	images, err := s.List()
	for _, m := range images {
		l.Images = append(l.Images, m.ID)
	}
	return err
}

// GrowVolume raises the limit of a mounted volume to the size of spec, while instances run in
// it, and returns its usage.
func (e *Engine) GrowVolume(ctx context.Context, spec volume.Spec) (volume.Usage, error) {
	kind := spec.Kind
	o := e.Opener()
	if kind == volume.Shm || kind == volume.Disk {
		return volume.Usage{}, RequestError{fmt.Errorf("grow volume %s: it has no limit of its own\nhint: its size is that of the file system at %s", kind, o.At(kind).Dir())}
	}
	there, err := o.There(kind)
	if err != nil {
		return volume.Usage{}, err
	}
	if !there {
		return volume.Usage{}, fmt.Errorf("grow volume %s: %w\nhint: ramaria volume ls", kind, ErrNoVolume)
	}
	old, err := o.At(kind).Usage()
	if err != nil {
		return volume.Usage{}, err
	}
	if spec.Size < old.Size {
		return volume.Usage{}, RequestError{fmt.Errorf("grow volume %s: it has %s already, and cannot shrink\nhint: ramaria volume rm %s, then --volume %s", kind, volume.FormatBytes(old.Size), kind, spec)}
	}
	v, err := o.Open(ctx, spec)
	if err != nil {
		return volume.Usage{}, err
	}
	return v.Usage()
}
