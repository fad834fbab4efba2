package instance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Phase is what an instance is doing.
type Phase string

// The phases. The supervisor writes the first four; the others follow from the
// files around state.json.
const (
	Starting Phase = "starting"
	Running  Phase = "running"
	Stopping Phase = "stopping"
	Stopped  Phase = "stopped" // shut down cleanly, or never started
	Crashed  Phase = "crashed" // the server, or its supervisor, died
	Gone     Phase = "gone"    // the volume was emptied, by a reboot
)

// State is what the supervisor says in state.json.
type State struct {
	Phase Phase `json:"phase"`
	// SupervisorPID and ServerPID are processes of the present or last run.
	SupervisorPID int `json:"supervisor_pid"`
	ServerPID     int `json:"server_pid,omitempty"`
	// Since is when the phase began; zero for Gone, of which nobody knows when.
	Since time.Time `json:"since,omitzero"`
	// Reason says why a server ended or did not start.
	Reason string `json:"reason,omitempty"`
	// Moved says when and why the supervisor moved the instance unasked, "" if it did not.
	Moved string `json:"moved,omitempty"`
	// Confined says that the server reaches nothing but its own files.
	Confined bool `json:"confined,omitempty"`
	// Warnings are what the watch has to say at present: room, memory.
	Warnings []string `json:"warnings,omitempty"`
	// Notices are what will be a warning if it goes on so.
	Notices []string `json:"notices,omitempty"`
	// SlowedSince is since when commits wait for the disk of an archive that an interval lets them be ahead of; nil if
	// they do not.
	SlowedSince *time.Time `json:"slowed_since,omitempty"`
	// BlindSince is since when sessions may have committed what the log of a durable instance does not have; nil if
	// none may.
	BlindSince *time.Time `json:"blind_since,omitempty"`
	// ReadySeconds is how long the server took from exec to its first answer.
	ReadySeconds float64 `json:"ready_seconds,omitempty"`
	// Doublewrite is what became of --device-atomic.
	Doublewrite DoublewriteState `json:"doublewrite,omitzero"`
	// TmpDir is where temporary files lie.
	TmpDir TmpDirState `json:"tmpdir,omitzero"`
	// Cluster is what a member of a cluster is in it.
	Cluster *client.Membership `json:"cluster,omitempty"`
}

// DoublewriteState is whether a server that was started with --device-atomic has a doublewrite buffer.
type DoublewriteState struct {
	// Value is on or off, "" where --device-atomic was not given.
	Value string `json:"value"`
	Why   string `json:"why"`
}

// TmpDirState is what the temporary files of a server lie in.
type TmpDirState struct {
	// Kind is "directory", "tmpfs" or "wheatfs", and Why says why.
	Kind string `json:"kind"`
	Why  string `json:"why"`
	// RAM and Disk are how many bytes of a wheatfs lie where, and Limit how many may lie in RAM.
	RAM   int64 `json:"ram_bytes,omitempty"`
	Disk  int64 `json:"disk_bytes,omitempty"`
	Limit int64 `json:"ram_limit_bytes,omitempty"`
}

func (r *Record) statePath() string { return filepath.Join(r.Dir, "state.json") }

// statePage is how much of state.json, in bytes, can be overwritten when the volume
// is full: the block that it has.
const statePage = 4096

// SaveState writes state.json; only the supervisor calls it, or who reaps it. It
// does so in a full volume too, which is what there is to tell then.
func (r *Record) SaveState(s State) error {
	err := WriteJSON(r.statePath(), s)
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return r.overwriteState(s)
}

// overwriteState puts a new state in the place of the old one by a single write to
// a single block: in practice readers see one or the other.
func (r *Record) overwriteState(s State) error {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write %s: %w", r.statePath(), err)
	}
	f, err := os.OpenFile(r.statePath(), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write state in a full volume: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return fmt.Errorf("write state in a full volume: %w", err)
	}
	if rest := int(fi.Size()) - len(b); rest > 0 {
		b = append(b, bytes.Repeat([]byte(" "), rest)...)
	}
	if len(b) > statePage {
		return fmt.Errorf("write %s: %w", r.statePath(), syscall.ENOSPC)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		return fmt.Errorf("write state in a full volume: %w", err)
	}
	return nil
}

// emptier names what has emptied the volume, as far as that can be known.
func (r *Record) emptier() string {
	if r.Volume == string(volume.Shm) && (host.Host{}).RemovesIPC(os.Geteuid()) {
		return "a reboot, or after your last session ended (RemoveIPC=yes of systemd-logind; loginctl enable-linger prevents that)"
	}
	return "a reboot"
}

// strayedReason is what is said of an instance whose record came with a copied home.
const strayedReason = "its data lies in a volume of another home, of which this one is a copy"

// damagedReason is what is said of an instance whose state.json cannot be understood.
const damagedReason = "state.json is damaged"

// telling is what can be made of state.json.
type telling int

const (
	intact telling = iota
	absent
	damaged
)

// readState reads state.json; an error is one of reading, not of what is read.
func (r *Record) readState() (State, telling, error) {
	var s State
	err := ReadJSON(r.statePath(), &s)
	switch {
	case missing(err):
		return State{}, absent, nil
	case errors.Is(err, errDamaged):
		return State{}, damaged, nil
	}
	return s, intact, err
}

// State returns what the instance does now.
func (r *Record) State() (State, error) {
	s, told, err := r.readState()
	if err != nil {
		return State{}, err
	}
	alive, err := sys.Held(r.LockPath())
	if err != nil {
		return State{}, err
	}
	if alive && told != intact {
		return r.untold(told), nil
	}
	if !alive {
		// No process writes it now: it may have been ending when it was read.
		if s, told, err = r.readState(); err != nil {
			return State{}, err
		}
	}
	switch {
	case told == absent:
		if _, err := r.readMade(); missing(err) && r.Strayed {
			return State{Phase: Gone, Reason: strayedReason}, nil
		} else if missing(err) {
			return State{Phase: Gone, Reason: "its directory in the " + r.Volume + " volume is gone, as after " + r.emptier()}, nil
		}
		return State{Phase: Stopped, Since: r.Created}, nil
	case told == damaged:
		return State{Phase: Crashed, Since: r.Created, Reason: damagedReason}, nil
	case !alive && s.Phase.Alive():
		s.Phase = Crashed
		s.Reason = "its supervisor was killed, and the server with it"
	}
	return s, nil
}

// untold is the state of an instance whose supervisor lives, and has not said yet
// what it does, or not in a way that can be understood.
func (r *Record) untold(t telling) State {
	s := State{Phase: Running, Since: r.Created, Reason: damagedReason}
	if t == absent {
		s = State{Phase: Starting, Since: r.Created}
	}
	// Without the number no command can reach it.
	if b, err := os.ReadFile(r.LockPath()); err == nil {
		s.SupervisorPID, _ = strconv.Atoi(string(b)) // 0 if it is none
	}
	return s
}

// SignLock writes into the lock file, which the caller holds, who that is: state.json
// may be damaged.
func (r *Record) SignLock() error {
	if err := os.WriteFile(r.LockPath(), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return fmt.Errorf("sign lock: %w", err)
	}
	return nil
}

// Alive reports whether the phase has a supervisor.
func (p Phase) Alive() bool { return p == Starting || p == Running || p == Stopping }
