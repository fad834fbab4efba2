package supervisor

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// watchInterval is the least time between two looks at room and memory.
	watchInterval = time.Second
	// watchShare bounds what looking costs: at most one part in this many of the time.
	watchShare = 500
	// WarnShare is the part of the volume at which a warning appears.
	WarnShare = 0.9
	// fullRoom is the room, in bytes, at which a volume counts as full: the server
	// can no longer extend a tablespace or begin another log file.
	fullRoom = server.BinlogFileSize
	// keepBinlogs is how many binary log files stay, the one in use included.
	keepBinlogs = 2
)

// watch looks after a running instance.
type watch struct {
	*Supervisor
	// purged is the last binary log file that was purged up to.
	purged string
}

// look takes one look and returns when to take the next.
func (w *watch) look(ctx context.Context) time.Duration {
	began := time.Now()
	warnings, err := w.room()
	if err != nil {
		w.log.Error("cannot watch the volume", "error", err)
	} else if !slices.Equal(warnings, w.state.Warnings) {
		for _, text := range warnings {
			w.log.Warn(text)
		}
		w.state.Warnings = warnings
		if err := w.inst.SaveState(w.state); err != nil {
			w.log.Error("cannot write state", "error", err)
		}
	}
	if err := w.purge(ctx); err != nil {
		w.log.Error("cannot purge the binary log", "error", err)
	}
	return max(watchInterval, watchShare*time.Since(began))
}

// room returns what there is to say about the room in the volume.
func (w *watch) room() ([]string, error) {
	u, err := w.volume.Usage()
	if err != nil {
		return nil, err
	}
	return RoomWarnings(w.volume, u), nil
}

// RoomWarnings says in words when a volume is full, or nearly. Shares are of what
// could be used: what is used already and what is still free.
func RoomWarnings(v volume.Volume, u volume.Usage) []string {
	share := 1 - float64(u.Free)/float64(max(1, u.Used+u.Free))
	numbers := fmt.Sprintf("%s used, %s free, bound by %s", volume.FormatBytes(u.Used), volume.FormatBytes(u.Free), u.Bound)
	switch {
	case u.Free < fullRoom:
		return []string{fmt.Sprintf("volume %s is full: %s; writes fail or wait until there is room\nhint: ramaria down another instance with --rm, ramaria image rm, or raise what binds", v.Kind(), numbers)}
	case share >= WarnShare:
		return []string{fmt.Sprintf("volume %s is %.0f %% full: %s", v.Kind(), 100*share, numbers)}
	}
	return nil
}

// purge lets the server remove all but the newest binary log files: nobody reads
// them yet. Whoever will (rewinding) states here up to where it has read.
func (w *watch) purge(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(w.inst.DataDir(), server.BinlogName+".[0-9]*"))
	if err != nil || len(files) <= keepBinlogs {
		return err
	}
	sort.Strings(files)
	upTo := filepath.Base(files[len(files)-keepBinlogs])
	if upTo == w.purged {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	if _, err := w.db.ExecContext(ctx, "PURGE BINARY LOGS TO '"+upTo+"'"); err != nil {
		return fmt.Errorf("purge binary logs to %s: %w", upTo, err)
	}
	w.purged = upTo
	return nil
}
