// Package network makes a network on this machine for the members of a cluster: a network namespace for each, and a bridge
// that joins them and the machine. It does so by the program ip (iproute2), for root alone.
//
// What it makes is known by names and hardware addresses that come from a hash of whose it is. It never touches a namespace or
// an interface that is another's, and making and removing may be repeated, whoever was killed half way.
package network

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Network is the network of a cluster.
type Network struct {
	// Bridge is the interface of the machine in it.
	Bridge string `json:"bridge"`
	// Subnet are its addresses: the first is the bridge's, the next those of the namespaces.
	Subnet netip.Prefix `json:"subnet"`
}

// places are where the kernel shows interfaces, and ip keeps the names of namespaces.
const interfaces, namespaces = "/sys/class/net", "/run/netns"

// inside is the interface in a namespace.
const inside = "eth0"

// Namespace is the name of the namespace of an instance, for ip netns exec.
func Namespace(instance string) string { return "ramaria-" + instance }

// Path is the file by which a process enters the namespace of an instance.
func Path(instance string) string { return filepath.Join(namespaces, Namespace(instance)) }

// Plan chooses a network for instances: names that nothing has yet, and a subnet that neither this machine nor any of taken
// uses. owner tells it apart from the networks of others. Nothing is made.
func Plan(ctx context.Context, owner string, taken []netip.Prefix, instances ...string) (*Network, error) {
	if err := Usable(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte("network " + owner))
	n := &Network{Bridge: "rt" + hex.EncodeToString(sum[:4])}
	found := func(what, name, remove string) error {
		return fmt.Errorf("make a network: there is %s %s already, which no cluster of this home has\nhint: another name; where nobody needs it, %s %[2]s", what, name, remove)
	}
	if exists(filepath.Join(interfaces, n.Bridge)) {
		return nil, found("an interface", n.Bridge, "ip link delete")
	}
	for i, name := range instances {
		if exists(filepath.Join(interfaces, n.outside(i))) {
			return nil, found("an interface", n.outside(i), "ip link delete")
		}
		if exists(Path(name)) {
			return nil, found("a network namespace", Namespace(name), "ip netns delete")
		}
	}
	used, err := usedHere(ctx)
	if err != nil {
		return nil, err
	}
	n.Subnet, err = choose(append(used, taken...))
	return n, err
}

// Host is the address of the instance at an index.
func (n *Network) Host(index int) string {
	at := n.gateway()
	for range index + 1 {
		at = at.Next()
	}
	return at.String()
}

func (n *Network) gateway() netip.Addr { return n.Subnet.Masked().Addr().Next() }

// outside is the machine's end of the way to the namespace at an index.
func (n *Network) outside(index int) string { return n.Bridge + "-" + strconv.Itoa(index+1) }

// mac is the hardware address of the interface in the namespace at an index, by which it is known to be ours.
func (n *Network) mac(index int) string {
	sum := sha256.Sum256([]byte(n.outside(index)))
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
}

// Make makes what is not there of the network of instances, and has its interfaces up. Rules of a firewall that somebody has
// made in the namespaces stay.
func (n *Network) Make(ctx context.Context, instances ...string) error {
	if err := Usable(); err != nil {
		return err
	}
	if !exists(filepath.Join(interfaces, n.Bridge)) {
		if err := n.makeBridge(ctx); err != nil {
			return err
		}
	}
	if err := runAll(ctx, "addr replace "+n.address(n.gateway().String())+" dev "+n.Bridge, "link set "+n.Bridge+" up"); err != nil {
		return err
	}
	for i, name := range instances {
		if err := n.makeNamespace(ctx, i, name); err != nil {
			return err
		}
	}
	return nil
}

func (n *Network) makeBridge(ctx context.Context) error {
	used, err := usedHere(ctx)
	if err != nil {
		return err
	}
	for _, other := range used {
		if other.Overlaps(n.Subnet) {
			return fmt.Errorf("make network %s: this machine uses %s for something else now\nhint: ip -4 route show table all; ip -4 addr", n.Subnet, other)
		}
	}
	return runAll(ctx, "link add "+n.Bridge+" type bridge")
}

func (n *Network) makeNamespace(ctx context.Context, index int, instance string) error {
	ns, there := Namespace(instance), true
	if !exists(Path(instance)) {
		there = false
		if err := runAll(ctx, "netns add "+ns); err != nil {
			return err
		}
	}
	joined, ours, err := n.owns(ctx, index, instance)
	if err != nil {
		return err
	}
	if there && !ours {
		return fmt.Errorf("make network namespace %s: one of that name is somebody else's\nhint: another home may have a cluster of the same name; where nobody needs it, ip netns delete %[1]s", ns)
	}
	out := n.outside(index)
	if !joined {
		if exists(filepath.Join(interfaces, out)) { // it leads to a namespace whose name somebody took away
			if err := runAll(ctx, "link delete "+out); err != nil {
				return err
			}
		}
		if err := runAll(ctx, "link add "+out+" type veth peer name "+inside+" address "+n.mac(index)+" netns "+ns); err != nil {
			return err
		}
	}
	return runAll(ctx, "link set "+out+" master "+n.Bridge, "link set "+out+" up", "-n "+ns+" addr replace "+n.address(n.Host(index))+" dev "+inside,
		"-n "+ns+" link set "+inside+" up", "-n "+ns+" link set lo up")
}

// owns reports whether the namespace of an instance is joined to this network, and whether it is ours: one that is joined, or
// one with nothing in it, as a command left it that was killed.
func (n *Network) owns(ctx context.Context, index int, instance string) (joined, ours bool, err error) {
	text, err := run(ctx, "-n", Namespace(instance), "-o", "link", "show")
	if err != nil {
		return false, false, err
	}
	joined = strings.Contains(text, n.mac(index))
	return joined, joined || strings.Count(text, "\n") == 1, nil
}

// Remove removes what is there of the network of instances. A process that still runs in a namespace is alone in it then.
func (n *Network) Remove(ctx context.Context, instances ...string) (err error) {
	if err := Usable(); err != nil {
		return err
	}
	for i, name := range instances {
		ours := false
		if exists(Path(name)) {
			var oerr error
			if _, ours, oerr = n.owns(ctx, i, name); oerr != nil {
				err = errors.Join(err, oerr)
				continue
			}
		}
		if exists(filepath.Join(interfaces, n.outside(i))) {
			err = errors.Join(err, runAll(ctx, "link delete "+n.outside(i)))
		}
		if ours {
			err = errors.Join(err, runAll(ctx, "netns delete "+Namespace(name)))
		}
	}
	if exists(filepath.Join(interfaces, n.Bridge)) {
		err = errors.Join(err, runAll(ctx, "link delete "+n.Bridge))
	}
	return err
}

func (n *Network) address(host string) string { return host + "/" + strconv.Itoa(n.Subnet.Bits()) }

// Usable says why there can be no networks here, nil if there can.
func Usable() error {
	switch {
	case os.Geteuid() != 0:
		return errors.New("use --netns: only root may make network namespaces\nhint: leave it out, and the members have ports on 127.0.0.1; or sudo")
	case sys.SystemProgram("ip") == "":
		return errors.New("use --netns: there is no program ip, which makes network namespaces\nhint: apt-get install iproute2")
	}
	return nil
}

// Exists reports whether there is a network namespace for an instance.
func Exists(instance string) bool { return exists(Path(instance)) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// runAll runs ip with each of these arguments, which have no spaces in them, in turn.
func runAll(ctx context.Context, commands ...string) error {
	for _, c := range commands {
		if _, err := run(ctx, strings.Fields(c)...); err != nil {
			return err
		}
	}
	return nil
}

// run runs ip and returns what it wrote.
func run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, sys.SystemProgram("ip"), args...) // #nosec G204 -- names and addresses of ours
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	out, err := cmd.Output()
	if err == nil {
		return string(out), nil
	}
	hint := ""
	if sys.InUserNamespace() {
		hint = "\nhint: this is a container that may not make networks; without --netns members have ports on 127.0.0.1"
	}
	said := ""
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		said = ": " + strings.TrimSpace(string(exit.Stderr))
	}
	return "", fmt.Errorf("ip %s: %w%s%s", strings.Join(args, " "), err, said, hint)
}
