package instance

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Replica says what an instance follows.
type Replica struct {
	// Of is the name of the instance, or HOST:PORT of another server.
	Of string `json:"of"`
	// Sync says that commits there are answered when they are here.
	Sync bool `json:"sync,omitempty"`
}

// Replication is what an instance has to do with others, as instance.json says it.
type Replication struct {
	// Source is what a replica follows, and from where on; nil for none.
	Source *dbconn.Source `json:"source,omitempty"`
	// Diverged is the first statement since which a replica may differ from its source, nil for none.
	Diverged *client.Divergence `json:"diverged,omitempty"`
	// Parted says that it, or what it is a copy of, was a replica: its server starts to follow nobody by itself.
	Parted bool `json:"parted,omitempty"`
	// LogsBegun counts how often its binary log was begun again while it ran, as by RESET MASTER.
	LogsBegun int `json:"logs_begun,omitempty"`
	// WaitsFor is the replica that commits wait for, "" for none.
	WaitsFor string `json:"waits_for,omitempty"`
}

// Followers are the instances that follow another.
func (g *Registry) Followers(of string) ([]*Record, error) {
	records, err := g.List()
	return slices.DeleteFunc(records, func(r *Record) bool { return r.Spec.Replica == nil || r.Spec.Replica.Of != of }), err
}

// mostUser is how many characters the name of an account may have in MySQL.
const mostUser = 32

// ReplicaUser is the name of the account at its source of a replica.
func ReplicaUser(name string) string {
	user := dbconn.ReplicaUserPrefix + name
	if len(user) > mostUser {
		sum := sha256.Sum256([]byte(name))
		user = user[:mostUser-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return user
}

// RemoteReplicaUser is the name of the account at a source that is none of ours, or on another machine, of a replica with
// a server id.
func RemoteReplicaUser(serverID uint32) string {
	return fmt.Sprintf("%s%08x", dbconn.RemoteUserPrefix, serverID)
}

// IsRemote reports whether it follows a server that is no instance of this machine: Of is its HOST:PORT.
func (r *Replica) IsRemote() bool { return strings.Contains(r.Of, ":") }

// LogLife names the life of the instance's binary log: one that is made again, recovered, or emptied by
// RESET MASTER, begins another.
func (i *Instance) LogLife() string {
	epoch := uint32(0)
	if i.Durable != nil {
		epoch = i.Durable.Epoch
	}
	return fmt.Sprintf("%d.%d.%d", i.ServerID, epoch, i.LogsBegun)
}

// Following is how a replica follows its source, as its supervisor says it in replica.json.
type Following struct {
	client.Replica

	// Needs is the first file of the source's log that the replica has not received whole.
	Needs string `json:"needs,omitempty"`
	// Judged is up to where it was looked for statements by which it diverges, and Own that this is in its own log.
	Judged binlog.Position `json:"judged,omitzero"`
	Own    bool            `json:"own,omitempty"`
}

// replicaPath is where the supervisor of a replica says how it follows its source.
func (r *Record) replicaPath() string { return filepath.Join(r.Dir, "replica.json") }

// SaveFollowing writes it.
func (r *Record) SaveFollowing(f Following) error {
	return WriteJSON(r.replicaPath(), f)
}

// Following reads it; nil if there is none.
func (r *Record) Following() (*Following, error) {
	f := &Following{}
	err := ReadJSON(r.replicaPath(), f)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged) { // it is written again in a second
		return nil, nil
	}
	return f, err
}
