package cluster

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// A cluster may have its members on several machines, one on each. Each machine has a file of the cluster, and each member a
// door, at which the other machines ask.

// ErrLeft says that a cluster went on without a machine's member.
var ErrLeft = errors.New("the cluster went on without this machine's member")

// Far reports whether the members are on several machines, or are meant to be.
func (c *Cluster) Far() bool { return c.Here != "" }

// Local reports whether a member is on this machine.
func (c *Cluster) Local(n Node) bool { return !c.Far() || n.Host == c.Here }

// LocalNodes are the members on this machine.
func (c *Cluster) LocalNodes() []Node {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n Node) bool { return !c.Local(n) })
}

// DoorAddress is where other machines ask about a member.
func (n Node) DoorAddress() string { return net.JoinHostPort(n.Host, strconv.Itoa(n.Door)) }

// Ports are those at which other machines reach a member, in ascending order.
func (n Node) Ports() []int {
	ports := slices.DeleteFunc([]int{n.Port, n.Group, n.Transfer, n.State, n.Door}, func(p int) bool { return p == 0 })
	slices.Sort(ports)
	return ports
}

// Shared is what machines tell each other of a cluster: all but its key, which they have, and what only concerns one.
func (c *Cluster) Shared() *Cluster {
	s := *c
	s.Here, s.Cert, s.Key, s.Made, s.Removing = "", "", "", false, false
	s.Nodes = slices.Clone(c.Nodes)
	for i := range s.Nodes {
		s.Nodes[i].Stale = false
	}
	return &s
}

// Adopt takes over what another machine says of the cluster. It is ErrLeft if this one's member is none of it any more.
func (c *Cluster) Adopt(from *Cluster) error {
	for _, n := range from.Nodes {
		if err := c.check(n); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(from.Nodes, c.Local) {
		return fmt.Errorf("cluster %s: %w\nhint: ramaria cluster rm %[1]s here, and ramaria cluster join again", c.Name, ErrLeft)
	}
	stale := map[string]bool{}
	for _, n := range c.Nodes {
		stale[n.Name] = n.Stale
	}
	c.Revision, c.Group, c.Nodes = from.Revision, from.Group, slices.Clone(from.Nodes)
	for i, n := range c.Nodes {
		c.Nodes[i].Stale = stale[n.Name]
	}
	c.Numbered = max(c.Numbered, from.Numbered)
	return nil
}

// Change is one of which members a cluster has.
type Change struct {
	Add    *Node  `json:"add,omitempty"`
	Remove []Node `json:"remove,omitempty"`
}

// check refuses a member that none can be.
func (c *Cluster) check(n Node) error {
	ip := net.ParseIP(n.Host)
	number := NodeNumber(n.Name)
	switch {
	case number < 1 || n.Name != NodeName(c.Name, number), ip == nil || ip.String() != n.Host || ip.IsLoopback() || ip.IsUnspecified():
	case slices.ContainsFunc(n.Ports(), func(p int) bool { return p < 1 || p > 65535 }), n.Port == 0, n.Door == 0:
	case slices.ContainsFunc(c.Nodes, func(o Node) bool { return c.Local(o) && (o.Host == n.Host) != (o.Name == n.Name) }):
	default:
		return nil
	}
	return fmt.Errorf("cluster %s: %q at %q cannot be a member of it", c.Name, n.Name, n.Host)
}

// ErrTaken says that another member has what one that joins would have.
var ErrTaken = errors.New("another machine joins at this moment")

// Apply makes a change that another machine tells of.
func (c *Cluster) Apply(change Change) error {
	for _, gone := range change.Remove {
		c.Nodes = slices.DeleteFunc(slices.Clone(c.Nodes), func(n Node) bool { return n.Name == gone.Name && n.Host == gone.Host })
	}
	if n := change.Add; n != nil {
		if err := c.check(*n); err != nil {
			return err
		}
		old, number := c.Node(n.Name)
		switch {
		case number > 0 && old.Host != n.Host, number == 0 && len(c.Nodes) >= MostNodes:
			return fmt.Errorf("member %s at %s: %w", n.Name, n.Host, ErrTaken)
		case number > 0:
			c.Nodes[number-1] = *n
		default:
			c.Nodes = append(c.Nodes, *n)
		}
	}
	if !slices.ContainsFunc(c.Nodes, c.Local) {
		return ErrLeft
	}
	c.Revision++
	return nil
}

// Invitation is what a machine needs to join a cluster. It is a secret.
type Invitation struct {
	Format int    `json:"format"`
	Name   string `json:"name"`
	Cert   string `json:"cert"`
	Key    string `json:"key"`
}

// Invitation returns that of the cluster.
func (c *Cluster) Invitation() Invitation { return Invitation{Format, c.Name, c.Cert, c.Key} }

// NextNumber is the number of a member that joins: the lowest that none has.
func (c *Cluster) NextNumber() int {
	number := 1
	for {
		if _, taken := c.Node(NodeName(c.Name, number)); taken == 0 {
			return number
		}
		number++
	}
}

// WordFile is the name of the file in which the script of a joining member of Galera waits for its donor's word.
func (n Node) WordFile() string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_' // as tr in the script has it
	}, net.JoinHostPort(n.Host, strconv.Itoa(n.State)))
}

// WriteWord gives the script of a member what its donor on another machine said.
func (s Store) WriteWord(name string, n Node, text string, account server.Account) error {
	return server.WritePrivate(filepath.Join(s.Meet(name), n.WordFile()), []byte(text), account)
}

// CarryWords has carry tell members on other machines what their donor on this one has said, and forgets what was told.
func (s Store) CarryWords(c *Cluster, carry func(n Node, text string) error) (err error) {
	d, err := sys.OpenDir(s.Meet(c.Name)) // servers write there
	if err != nil {
		return err
	}
	defer d.CloseWith(&err)
	for _, n := range c.Nodes {
		if c.Local(n) {
			continue
		}
		text, rerr := readWord(d, n.WordFile())
		if rerr == nil && text != "" {
			if rerr = carry(n, text); rerr == nil {
				rerr = d.Remove(n.WordFile())
			}
		}
		err = errors.Join(err, rerr)
	}
	return err
}

func readWord(d *sys.Dir, name string) (string, error) {
	f, err := d.Open(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, mostState))
	return string(text), errors.Join(err, f.Close())
}

func (s Store) joinedPath(name string) string { return filepath.Join(s.Dir, name+".joined") }

// SetJoined writes down, on the disk, that this machine's member of a cluster on several has joined: what it has is not what it
// had when it was apart.
func (s Store) SetJoined(name string) error {
	return instance.WriteDurableJSON(s.joinedPath(name), struct{}{})
}

// Joined reports whether SetJoined was called since ForgetJoined.
func (s Store) Joined(name string) (bool, error) {
	_, err := os.Stat(s.joinedPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ForgetJoined is called once a cluster's Has is written down.
func (s Store) ForgetJoined(name string) error {
	if err := os.Remove(s.joinedPath(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cluster %s: %w", name, err)
	}
	return nil
}
