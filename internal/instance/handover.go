package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/binlog"
)

// HandOver is what is known of a hand-over of an instance to another server. The command that does it writes it to the
// state directory, where it outlives a reboot; it holds no secret.
type HandOver struct {
	Format int `json:"format"`
	// To is what kind of target it was written for, and Dir the directory that was made.
	To  string `json:"to"`
	Dir string `json:"dir"`
	// User and Host are the account at the instance that the target follows by.
	User string `json:"user"`
	Host string `json:"host"`
	// File and Pos are from where on the target needs the log, and Life is that of the log.
	File string `json:"file"`
	Pos  int64  `json:"pos"`
	Life string `json:"life"`

	Begun time.Time `json:"begun"`
	// Cut is the cut-over, nil before it.
	Cut *CutOver `json:"cut,omitempty"`
}

// CutOver is the end of a hand-over: from then on another server has the data that applications use.
type CutOver struct {
	// To is its HOST:PORT.
	To string    `json:"to"`
	At time.Time `json:"at"`
	// Done says that it is so: the instance stays read-only. Before, a cut-over is under way, or was killed.
	Done bool `json:"done,omitempty"`
	// Position is up to where the target has the instance's log.
	Position string `json:"position,omitempty"`
	// Revoked are the accounts that lost the privilege to write in spite of read_only, and Events is the value that
	// event_scheduler had.
	Revoked []string `json:"revoked,omitempty"`
	Events  string   `json:"events,omitempty"`
}

// HandedOver reports whether another server has the instance's data now.
func (h *HandOver) HandedOver() bool { return h != nil && h.Cut != nil && h.Cut.Done }

func (g Registry) handOverPath(name string) string { return filepath.Join(g.Dir, name+".handover") }

// HandOver reads what is known of the hand-over of an instance; nil if there is none.
func (g Registry) HandOver(name string) (*HandOver, error) {
	h := &HandOver{}
	err := ReadJSON(g.handOverPath(name), h)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, errDamaged) {
		return nil, fmt.Errorf("%w\nhint: remove the file", err)
	}
	if err == nil && h.Format != Format {
		return nil, fmt.Errorf("read %s: format %d, this ramaria knows %d\nhint: use the ramaria that made it", g.handOverPath(name), h.Format, Format)
	}
	return h, err
}

// PutHandOver writes it. Who does holds the lock of HandOverLock.
func (g Registry) PutHandOver(name string, h *HandOver) error {
	h.Format = Format
	return WriteDurableJSON(g.handOverPath(name), h)
}

// DeleteHandOver forgets it.
func (g Registry) DeleteHandOver(name string) error {
	if err := os.Remove(g.handOverPath(name)); err != nil && !missing(err) {
		return fmt.Errorf("forget the hand-over: %w", err)
	}
	return nil
}

// HandOverLock is the name of the lock that the command holds which is at a hand-over.
func HandOverLock(name string) string { return name + ".hand-over" }

// HandOverLockPath is its file.
func (g Registry) HandOverLockPath(name string) string {
	return filepath.Join(g.Dir, HandOverLock(name)+".lock")
}

// States of a target, as the instance sees it.
const (
	TargetAway    = "not connected"
	TargetReading = "connected, and being sent the log"
	TargetCaught  = "connected, and has been sent all"
	TargetLost    = "lost: the log was begun again, or the target was away for longer than it is kept"
)

// HandingOver is what the supervisor knows of the target, as it says it in handover.json.
type HandingOver struct {
	// State is one of those above, Since since when it is so.
	State string    `json:"state"`
	Since time.Time `json:"since"`
	// Needs is the first file of the log that the target may still need, while it is not connected.
	Needs string `json:"needs,omitempty"`
	// Of is the account that this is about.
	Of string `json:"of"`
	// Judged is up to where the log was looked at for statements by which the target may come to differ, and Diverged the
	// first, nil for none.
	Judged   binlog.Position    `json:"judged,omitzero"`
	Diverged *client.Divergence `json:"diverged,omitempty"`
}

func (r *Record) handingOverPath() string { return filepath.Join(r.Dir, "handover.json") }

// SaveHandingOver writes it.
func (r *Record) SaveHandingOver(h HandingOver) error { return WriteJSON(r.handingOverPath(), h) }

// HandingOver reads it; nil if there is none.
func (r *Record) HandingOver() (*HandingOver, error) {
	h := &HandingOver{}
	err := ReadJSON(r.handingOverPath(), h)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged) { // it is written again in a second
		return nil, nil
	}
	return h, err
}
