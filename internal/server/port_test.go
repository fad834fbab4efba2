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
		port, err := FreePort(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if port >= first && port <= last {
			t.Errorf("port %d is among those of outgoing connections, %d to %d", port, first, last)
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
