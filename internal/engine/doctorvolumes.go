package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// doctorVolumes tells what auto would take, and what there is to say of each kind.
func (e *Engine) doctorVolumes(ctx context.Context) []Finding {
	fetch := false
	o := e.lookingOpener(&fetch)
	kind, why, err := o.Foresee(ctx)
	if err != nil {
		text, hint := splitHint(err)
		return []Finding{{"volume", "bad", text, hint}}
	}
	out := []Finding{{"volume", "ok", "auto chooses " + why, ""}}
	if kind == volume.Disk {
		out[0].Level = "note"
	}
	if fetch {
		out[0].Hint = "mkfs.xfs is not installed: the first ramaria up fetches it"
	}
	var fits []string
	unfit := map[string][]string{}
	var reasons []string
	for _, k := range volume.Kinds {
		err := o.Fit(ctx, k)
		if err == nil {
			fits = append(fits, string(k))
			continue
		}
		reason := err.Error()
		if unfit[reason] == nil {
			reasons = append(reasons, reason)
		}
		unfit[reason] = append(unfit[reason], string(k))
	}
	out = append(out, Finding{"volume", "ok", "possible here: " + strings.Join(fits, ", "), ""})
	for _, reason := range reasons {
		text, hint, _ := strings.Cut(reason, "\nhint: ")
		out = append(out, Finding{"volume", "note", strings.Join(unfit[reason], ", ") + ": " + text, hint})
	}
	if e.Host.RemovesIPC(e.UID) {
		out = append(out, Finding{"volume", "note", "shm: systemd-logind empties your shared memory when your last session ends (RemoveIPC=yes), and with it instances and images",
			"loginctl enable-linger, or as root RemoveIPC=no in /etc/systemd/logind.conf, or --volume disk"})
	}
	return append(out, e.doctorRoom(kind)...)
}

// doctorRoom looks at the room in the volume that auto chooses, if it is there.
func (e *Engine) doctorRoom(kind volume.Kind) []Finding {
	o := e.Opener()
	if there, err := o.There(kind); err != nil || !there {
		return nil // doctorMemory tells what it could have
	}
	u, err := o.At(kind).Usage()
	if err != nil {
		return []Finding{{"room", "bad", err.Error(), ""}}
	}
	room := Finding{"room", "ok", fmt.Sprintf("%s used, %s free, bound by %s", volume.FormatBytes(u.Used), volume.FormatBytes(u.Free), u.BoundBy()), ""}
	const little = 256 << 20
	if u.Free < little {
		room.Level, room.Hint = "bad", "ramaria down NAME --rm, "
		if images := volume.FreesImages(o.At(kind).Dir()); images != "" {
			room.Hint += images + ", "
		}
		room.Hint += "or more memory"
	}
	return []Finding{room}
}
