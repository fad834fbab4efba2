package network

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
)

// pools are where subnets are taken from, the first that has room: private ranges, the rarest in use first (RFC 6598, RFC 1918).
var pools = []netip.Prefix{netip.MustParsePrefix("10.64.0.0/10"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16")}

// subnetBits is the length of a subnet's prefix: the bridge, and 13 members.
const subnetBits = 28

// subnetTries is how many subnets of a pool are tried.
const subnetTries = 200

// choose returns a subnet that overlaps none of used.
func choose(used []netip.Prefix) (netip.Prefix, error) {
	for _, pool := range pools {
		for range subnetTries {
			p := subnetOf(pool, rand.Uint32()) // #nosec G404 -- need not be hard to guess
			free := true
			for _, u := range used {
				free = free && !u.Overlaps(p)
			}
			if free {
				return p, nil
			}
		}
	}
	return netip.Prefix{}, errors.New("make a network: this machine has routes to all private addresses, and none are left\nhint: leave --netns out; ip -4 route show table all shows the routes")
}

// subnetOf is the subnet of a pool that a number stands for.
func subnetOf(pool netip.Prefix, number uint32) netip.Prefix {
	bytes := pool.Addr().As4()
	at := uint32(bytes[0])<<24 | uint32(bytes[1])<<16 | uint32(bytes[2])<<8 | uint32(bytes[3])
	at |= number << (32 - subnetBits) & (1<<(32-pool.Bits()) - 1)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(at >> 24), byte(at >> 16), byte(at >> 8), byte(at)}), subnetBits)
}

// usedHere are the addresses of this machine, and those that it has routes to but for the default one.
func usedHere(ctx context.Context) (used []netip.Prefix, err error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			used = append(used, p.Masked())
		}
	}
	text, err := run(ctx, "-4", "route", "show", "table", "all")
	return append(used, routes(text)...), err
}

// routes are the destinations in what ip route says, but for the default one: the first word of a line that is an address.
func routes(text string) (all []netip.Prefix) {
	for line := range strings.Lines(text) {
		for _, word := range strings.Fields(line) {
			p, err := netip.ParsePrefix(word)
			if a, aerr := netip.ParseAddr(word); err != nil && aerr == nil {
				p, err = netip.PrefixFrom(a, a.BitLen()), nil
			}
			if err == nil && p.Bits() > 0 {
				all = append(all, p)
			}
			if err == nil || word == "default" {
				break
			}
		}
	}
	return all
}
