package network

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoutes(t *testing.T) {
	const text = `default via 192.0.2.1 dev eth0
10.0.0.0/8 via 10.1.1.1 dev tun0
broadcast 10.1.1.255 dev tun0 table local proto kernel scope link src 10.1.1.2
unreachable 172.16.4.0/22
0.0.0.0/1 dev tun0
`
	var got []string
	for _, p := range routes(text) {
		got = append(got, p.String())
	}
	if diff := cmp.Diff([]string{"10.0.0.0/8", "10.1.1.255/32", "172.16.4.0/22", "0.0.0.0/1"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct{ used, in string }{
		{"192.0.2.0/24", "10.64.0.0/10"},
		{"10.0.0.0/8", "100.64.0.0/10"},
		{"10.64.0.0/10 100.64.0.0/10 172.16.0.0/12", "192.168.0.0/16"},
		{"10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.168.0.0/16", ""},
	} {
		var used []netip.Prefix
		for text := range strings.FieldsSeq(c.used) {
			used = append(used, netip.MustParsePrefix(text))
		}
		got, err := choose(used)
		if (err != nil) != (c.in == "") || err == nil && (!netip.MustParsePrefix(c.in).Overlaps(got) || got.Bits() != subnetBits || got.Masked() != got) {
			t.Errorf("beside %s: %s, %v; want one of %s", c.used, got, err, c.in)
		}
	}
	n := Network{Bridge: "rt", Subnet: subnetOf(netip.MustParsePrefix("10.64.0.0/10"), 1)}
	if n.Subnet.String() != "10.64.0.16/28" || n.gateway().String() != "10.64.0.17" || n.Host(0) != "10.64.0.18" || n.Host(8) != "10.64.0.26" {
		t.Errorf("addresses: %s, %s, %s, %s", n.Subnet, n.gateway(), n.Host(0), n.Host(8))
	}
}

// ip runs the program ip, which must succeed.
func ip(t *testing.T, args ...string) string {
	t.Helper()
	text, err := run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestMake: what is there is made once, what was taken away again, what is another's is neither made use of nor removed.
func TestMake(t *testing.T) {
	if err := Usable(); err != nil {
		t.Skip("SKIPPED, UNTESTED: ", err)
	}
	if out, err := exec.Command("unshare", "--net", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, UNTESTED: no network namespaces here: %v: %s", err, out)
	}
	ctx := t.Context()
	owner := fmt.Sprintf("t%d", os.Getpid()) // other tests run meanwhile
	names := []string{owner + "-1", owner + "-2"}
	n, err := Plan(ctx, owner, nil, names...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Remove(context.Background(), names...) })
	for range 2 {
		if err := n.Make(ctx, names...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Plan(ctx, owner, nil, names...); err == nil {
		t.Error("what is there is planned again")
	}
	if text := ip(t, "-n", Namespace(names[1]), "route", "get", n.Host(0)); !strings.Contains(text, "dev eth0") {
		t.Errorf("the way to another: %s", text)
	}

	ip(t, "link", "delete", n.Bridge)
	ip(t, "-n", Namespace(names[0]), "link", "set", "eth0", "down")
	ip(t, "netns", "delete", Namespace(names[1]))
	if err := n.Make(ctx, names...); err != nil {
		t.Error("after some of it was taken away: ", err)
	}
	if text := ip(t, "-n", Namespace(names[0]), "route", "get", n.Host(1)); !strings.Contains(text, "dev eth0") {
		t.Errorf("the way to another, made again: %s", text)
	}
	for range 2 {
		if err := n.Remove(ctx, names...); err != nil {
			t.Error(err)
		}
	}

	// Another's: it has an interface that is not ours.
	ip(t, "netns", "add", Namespace(names[0]))
	ip(t, "-n", Namespace(names[0]), "link", "add", "other0", "type", "bridge")
	t.Cleanup(func() { _, _ = run(context.Background(), "netns", "delete", Namespace(names[0])) })
	if err := n.Make(ctx, names...); err == nil || !strings.Contains(err.Error(), "somebody else's") {
		t.Errorf("make where another has one: %v", err)
	}
	if err := n.Remove(ctx, names...); err != nil {
		t.Error(err)
	}
	if text := ip(t, "-n", Namespace(names[0]), "link", "show"); !strings.Contains(text, "other0") {
		t.Errorf("another's was touched: %s", text)
	}
}
