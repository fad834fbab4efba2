package server

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
)

// TestFreePort wants ports that are no outgoing connection's.
func TestFreePort(t *testing.T) {
	first, last := (host.Host{}).OutgoingPorts()
	if first <= firstPort && last >= lastPort {
		t.Skip("SKIPPED, UNTESTED: this machine gives all ports to outgoing connections")
	}
	for range 100 {
		port, err := FreePort(t.Context(), Loopback)
		if err != nil {
			t.Fatal(err)
		}
		if port >= first && port <= last {
			t.Errorf("port %d is among those of outgoing connections, %d to %d", port, first, last)
		}
		if port >= firstMember && port <= lastMember {
			t.Errorf("port %d is among those of members of clusters", port)
		}
		port, err = FreeMemberPort(t.Context(), Loopback)
		own := first > firstMember || last < lastMember // else these are of outgoing connections, and a member gets another
		if err != nil || port >= first && port <= last || own && (port < firstMember || port > lastMember) {
			t.Errorf("a member gets port %d, %v", port, err)
		}
	}
}

func TestBindHost(t *testing.T) {
	for bind, want := range map[string]string{
		"": Loopback, "*": Loopback, "0.0.0.0": Loopback, "::": Loopback, "127.0.0.2": "127.0.0.2", "10.0.0.1 , ::1": "10.0.0.1", "::1": "::1",
	} {
		if got := BindHost(bind); got != want {
			t.Errorf("BindHost(%q) = %q, want %q", bind, got, want)
		}
	}
}

func TestListensAt(t *testing.T) {
	for _, c := range []struct {
		bind, host string
		want       bool
	}{
		{"", "127.0.0.1", true}, {"", "localhost", true}, {"", "192.168.1.5", false}, {"", "", false}, {"", "0.0.0.0", false},
		{"192.168.1.5", "192.168.1.5", true}, {"192.168.1.5", "127.0.0.1", false}, {"192.168.1.5", "", false}, {"10.0.0.1, 192.168.1.5", "192.168.1.5", true},
		{"0.0.0.0", "192.168.1.5", true}, {"0.0.0.0", "", true}, {"0.0.0.0", "0.0.0.0", true}, {"0.0.0.0", "fe80::1", false},
		{"*", "fe80::1", true}, {"::", "192.168.1.5", true}, {"::", "::", true}, {"localhost", "127.0.0.1", true}, {"fe80:0::1", "fe80::1", true},
		{"db1", "192.168.1.5", false},
	} {
		if got := ListensAt(c.bind, c.host); got != c.want {
			t.Errorf("a server with bind_address %q listens at %q: %v, want %v", c.bind, c.host, got, c.want)
		}
	}
}
