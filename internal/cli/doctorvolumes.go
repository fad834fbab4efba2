package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// lookingOpener opens nothing and fetches nothing: it is for Fit and Foresee. fetch
// is set if mkfs.xfs is missing and would be fetched.
func (a *app) lookingOpener(fetch *bool) *volume.Opener {
	o := a.opener()
	o.MkfsXFS = func(ctx context.Context) ([]string, error) {
		f := a.finder()
		f.NoFetch = true
		argv, err := mkfsOf(f.Tool(ctx, server.MkfsXFS))
		if errors.Is(err, server.ErrNoTool) && os.Getenv(server.EnvNoFetch) != "1" {
			*fetch = true
			return []string{server.MkfsXFS.Program}, nil
		}
		return argv, err
	}
	return o
}

// doctorVolumes tells what auto would take, and what there is to say of each kind.
func (a *app) doctorVolumes(ctx context.Context) []finding {
	fetch := false
	o := a.lookingOpener(&fetch)
	kind, why, err := o.Foresee(ctx)
	if err != nil {
		text, hint := splitHint(err)
		return []finding{{"volume", "bad", text, hint}}
	}
	out := []finding{{"volume", "ok", "auto chooses " + why, ""}}
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
	out = append(out, finding{"volume", "ok", "possible here: " + strings.Join(fits, ", "), ""})
	for _, reason := range reasons {
		text, hint, _ := strings.Cut(reason, "\nhint: ")
		out = append(out, finding{"volume", "note", strings.Join(unfit[reason], ", ") + ": " + text, hint})
	}
	if a.host.RemovesIPC(a.uid) {
		out = append(out, finding{"volume", "note", "shm: systemd-logind empties your shared memory when your last session ends (RemoveIPC=yes), and with it instances and images",
			"loginctl enable-linger, or as root RemoveIPC=no in /etc/systemd/logind.conf, or --volume disk"})
	}
	return append(out, a.doctorRoom(kind)...)
}

// doctorRoom looks at the room in the volume that auto chooses, if it is there.
func (a *app) doctorRoom(kind volume.Kind) []finding {
	o := a.opener()
	if there, err := o.There(kind); err != nil || !there {
		return nil // doctorMemory tells what it could have
	}
	u, err := o.At(kind).Usage()
	if err != nil {
		return []finding{{"room", "bad", err.Error(), ""}}
	}
	room := finding{"room", "ok", fmt.Sprintf("%s used, %s free, bound by %s", volume.FormatBytes(u.Used), volume.FormatBytes(u.Free), u.Bound), ""}
	const little = 256 << 20
	if u.Free < little {
		room.Level, room.Hint = "bad", "ramaria down NAME --rm, ramaria image rm --all --hot, or more memory"
	}
	return []finding{room}
}
