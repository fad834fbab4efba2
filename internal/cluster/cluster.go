// Package cluster knows the clusters of one user: which instances are their members, at which addresses these speak to each
// other, and by which certificate and account they know each other. It starts nothing.
//
// A cluster's file in the state directory is written by who holds the lock of the cluster's name: a command, or a member's
// supervisor that another machine tells something. It outlives a reboot, holds secrets, and is its owner's alone.
package cluster

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/network"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Format is the version of a cluster's file.
const Format = 1

// LeastNodes and MostNodes are how many members a cluster may have: with two, the death of one takes the quorum of the
// other, and a group of MySQL has nine at most.
const (
	LeastNodes = 3
	MostNodes  = 9
)

// Cluster is one cluster.
type Cluster struct {
	Format  int            `json:"format"`
	Name    string         `json:"name"`
	Flavour server.Flavour `json:"flavour"`
	// Group is the UUID by which MySQL knows the group.
	Group   string    `json:"group"`
	Created time.Time `json:"created"`
	// Spec is what its members are made of.
	Spec  instance.Spec `json:"spec"`
	Nodes []Node        `json:"nodes"`
	// Here is the address of this machine in a cluster whose members are on several machines, "" for one on one machine;
	// Revision counts the changes of which members there are.
	Here     string `json:"here,omitempty"`
	Revision uint64 `json:"revision,omitempty"`
	// Has is the number of the last transaction that this machine's member of Galera had when it was last started apart, since
	// a server that was recovered does not know; see Store.Joined.
	Has uint64 `json:"has,omitempty"`
	// App is the account of the application, which is the same at all members, and Login the one by which MySQL's members
	// get what they lack from each other.
	App   dbconn.Login `json:"app"`
	Login dbconn.Login `json:"login"`
	// Cert and Key are the certificate by which MariaDB's members know each other, and machines at their doors, in PEM.
	Cert string `json:"cert"`
	Key  string `json:"key"`
	// Network is where its members have addresses of their own on this machine, nil for ports on loopback.
	Network *network.Network `json:"network,omitempty"`
	// Made says that it has been whole: what is not is removed by the next command.
	Made bool `json:"made,omitempty"`
	// Numbered is the highest number that a transaction of a Galera cluster was seen to have: another life of it begins above
	// that, since a server that was recovered does not know.
	Numbered uint64 `json:"numbered,omitempty"`
	// Removing says that a command removes it: what is left of it can only be removed.
	Removing bool `json:"removing,omitempty"`
}

// Node is a member.
type Node struct {
	// Name is that of its instance.
	Name string `json:"name"`
	Host string `json:"host"`
	// Port is the server's, for applications.
	Port int `json:"port"`
	server.MemberPorts
	// Door is where other machines ask about the member, 0 in a cluster on one machine.
	Door int `json:"door,omitempty"`
	// Joining says that it has not joined yet for the first time: nobody counts on it.
	Joining bool `json:"joining,omitempty"`
	// Stale says that the cluster went on without what it has: it is to become a copy of another one.
	Stale bool `json:"stale,omitempty"`
}

// Address is where applications reach it.
func (n Node) Address() string { return net.JoinHostPort(n.Host, strconv.Itoa(n.Port)) }

// peer is where the other members reach it.
func (n Node) peer(flavour server.Flavour) string {
	if flavour == server.MySQL {
		return n.Address()
	}
	return net.JoinHostPort(n.Host, strconv.Itoa(n.Group))
}

// LoginHost is where the members' account logs in from, as in CREATE USER.
func (c *Cluster) LoginHost() string {
	for _, n := range c.Nodes {
		if n.Host != server.Loopback {
			return "%"
		}
	}
	return server.Loopback
}

// Quorum is how many members have to reach each other for the cluster to be written to.
func (c *Cluster) Quorum() int { return c.Counted()/2 + 1 }

// Counted is how many members it has, without those that join for the first time.
func (c *Cluster) Counted() (count int) {
	for _, n := range c.Nodes {
		if !n.Joining {
			count++
		}
	}
	return count
}

// Node returns the member of an instance, and its number from 1 on; 0 for none.
func (c *Cluster) Node(name string) (Node, int) {
	i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}, 0
	}
	return c.Nodes[i], i + 1
}

// Member is what the start of a member's server needs to know. What it does not say is which part it plays in that.
func (c *Cluster) Member(name string) (*server.Member, error) {
	n, number := c.Node(name)
	if number == 0 {
		return nil, fmt.Errorf("find instance %s in cluster %s: it is no member of it\nhint: ramaria cluster status %[2]s", name, c.Name)
	}
	m := &server.Member{Cluster: c.Name, Group: c.Group, Node: name, Number: NodeNumber(name), Host: n.Host, Ports: n.MemberPorts}
	if c.Network != nil {
		m.Network = network.Path(name)
	}
	for _, n := range c.Nodes {
		m.Peers = append(m.Peers, n.peer(c.Flavour))
	}
	return m, nil
}

// NodeName is the name of the instance of member number of a cluster.
func NodeName(cluster string, number int) string { return fmt.Sprintf("%s-%d", cluster, number) }

// NodeNumber is the number in the name of a member.
func NodeNumber(name string) int {
	number, _ := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:]) // NodeName has made it
	return number
}

// NewGroup returns a random UUID.
func NewGroup() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it does not fail
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Store has the clusters of one user, in a directory of the state directory.
type Store struct {
	Dir string
	// Programs is a directory from which servers may run programs, as those that were fetched are.
	Programs string
	// UID is the user's.
	UID int
}

// ErrNotFound says that there is no cluster of a name.
var ErrNotFound = errors.New("no such cluster")

func (s Store) path(name string) string { return filepath.Join(s.Dir, name+".json") }

// Lock keeps other commands from making, starting or removing the cluster called name. waiting is called once if another
// command is at it.
func (s Store) Lock(ctx context.Context, name string, waiting func()) (*sys.FileLock, error) {
	if err := instance.CheckNew(name); err != nil {
		return nil, err
	}
	if err := sys.MakePrivate(s.Dir); err != nil {
		return nil, fmt.Errorf("lock cluster: %w", err)
	}
	l, err := sys.Lock(ctx, filepath.Join(s.Dir, name+".lock"), sys.Exclusive, waiting)
	if err != nil {
		return nil, fmt.Errorf("lock cluster %s: %w", name, err)
	}
	return l, nil
}

// Get returns the cluster called name, or ErrNotFound.
func (s Store) Get(name string) (*Cluster, error) {
	if err := instance.CheckName(name); err != nil {
		return nil, err
	}
	var c Cluster
	err := instance.ReadJSON(s.path(name), &c)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("find cluster %s: %w\nhint: ramaria cluster status shows what there is; ramaria cluster create %[1]s makes it", name, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if c.Format != Format {
		return nil, fmt.Errorf("read %s: format %d, this ramaria knows %d\nhint: use the ramaria that made it", s.path(name), c.Format, Format)
	}
	return &c, nil
}

// Put writes a cluster's file, which is on the disk when it returns.
func (s Store) Put(c *Cluster) error {
	if err := sys.MakePrivate(s.Dir); err != nil {
		return fmt.Errorf("write cluster: %w", err)
	}
	c.Format = Format
	return instance.WriteDurableJSON(s.path(c.Name), c)
}

// Delete removes the file, and the directory in which its members met.
func (s Store) Delete(name string) error {
	if err := errors.Join(s.ForgetJoined(name), os.RemoveAll(s.Meet(name)), os.RemoveAll(filepath.Join(s.Programs, name))); err != nil {
		return fmt.Errorf("remove cluster %s: %w", name, err)
	}
	if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove cluster %s: %w", name, err)
	}
	return nil
}

// List returns all clusters, by name.
func (s Store) List() ([]*Cluster, error) {
	paths, err := sys.Glob(s.Dir, "*.json")
	if err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	sort.Strings(paths)
	var list []*Cluster
	for _, path := range paths {
		c, err := s.Get(strings.TrimSuffix(filepath.Base(path), ".json"))
		if errors.Is(err, ErrNotFound) || errors.Is(err, instance.ErrName) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// Meet is the directory in which servers of a cluster say to each other that a joiner needs no copy. It is theirs, and lies
// where the accounts of all servers get to.
func (s Store) Meet(name string) string {
	sum := sha256.Sum256([]byte("cluster " + s.Dir + " " + name))
	return fmt.Sprintf("/tmp/ramaria-%d-%s", s.UID, hex.EncodeToString(sum[:8]))
}
