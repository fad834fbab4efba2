package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ramaria-db/ramaria/internal/selfsigned"
)

func withKey(t *testing.T, c *Cluster) *Cluster {
	t.Helper()
	cert, err := selfsigned.New("test")
	if err == nil {
		c.Cert, c.Key, err = selfsigned.Text(cert)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDoor: a door answers who has the cluster's certificate, and nobody else; and who asks hears nobody else.
func TestDoor(t *testing.T) {
	c := withKey(t, &Cluster{Name: "c"})
	other := withKey(t, &Cluster{Name: "c"})
	open := func(c *Cluster) string {
		config, err := c.TLS()
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"text": "hello"}`))
		}))
		s.Listener = tls.NewListener(s.Listener, config)
		s.Start()
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	ours, theirs := open(c), open(other)
	var said Word
	if err := c.Ask(t.Context(), ours, http.MethodGet, PathMember, nil, &said); err != nil || said.Text != "hello" {
		t.Errorf("with the certificate: %q, %v", said.Text, err)
	}
	for address, asking := range map[string]*Cluster{ours: other, theirs: c} {
		if err := asking.Ask(t.Context(), address, http.MethodGet, PathMember, nil, nil); !errors.Is(err, ErrUnreached) {
			t.Errorf("with another certificate: %v", err)
		}
	}
	plain := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // #nosec G402 -- it is to fail
	conn, err := plain.DialContext(t.Context(), "tcp", ours)
	if err == nil { // the client hears of it when it reads
		_, err = conn.Read(make([]byte, 1))
		conn.Close()
	}
	if err == nil {
		t.Error("a client without a certificate is let in")
	}
	nowhere := unusedAddress(t)
	if err := c.Ask(t.Context(), nowhere, http.MethodGet, PathMember, nil, nil); !errors.Is(err, ErrUnreached) {
		t.Errorf("nobody listens: %v", err)
	}
}

func unusedAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestApply: machines that join and leave at one time, in any order.
func TestApply(t *testing.T) {
	at := func(number int, host string) Node {
		return Node{Name: NodeName("c", number), Host: host, Port: 3306, Door: 4569}
	}
	c := &Cluster{Name: "c", Here: "10.0.0.1", Nodes: []Node{at(1, "10.0.0.1"), at(2, "10.0.0.2")}}
	late := at(3, "10.0.0.3")
	late.Joining = true
	if err := c.Apply(Change{Add: &late}); err != nil || len(c.Nodes) != 3 || c.Counted() != 2 {
		t.Fatalf("one that is about to join: %v, %v", c.Nodes, err)
	}
	for _, n := range []Node{
		at(0, "10.0.0.7"), at(4, "127.0.0.1"), at(4, "host"), at(4, "10.0.0.1"), at(1, "10.0.0.7"), {Name: "shop-4", Host: "10.0.0.7", Port: 1, Door: 2},
		{Name: "c-4", Host: "10.0.0.7", Port: 3306}, {Name: "c-4", Host: "10.0.0.7", Port: 3306, Door: 70000}, {Name: "c-04", Host: "10.0.0.7", Port: 1, Door: 2},
	} {
		if err := c.Apply(Change{Add: &n}); err == nil {
			t.Errorf("a member that none can be is taken: %+v", n)
		}
	}
	three, four := at(3, "10.0.0.3"), at(3, "10.0.0.4")
	if err := c.Apply(Change{Add: &three}); err != nil || len(c.Nodes) != 3 || c.Counted() != 3 || c.Quorum() != 2 {
		t.Fatalf("a third: %v, %v", c.Nodes, err)
	}
	if err := c.Apply(Change{Add: &four}); !errors.Is(err, ErrTaken) {
		t.Errorf("another of the same name: %v", err)
	}
	if err := c.Apply(Change{Remove: []Node{four}}); err != nil || len(c.Nodes) != 3 {
		t.Errorf("the one that was refused leaves: %v, %v", c.Nodes, err)
	}
	if err := c.Apply(Change{Add: &three}); err != nil || len(c.Nodes) != 3 {
		t.Errorf("the third again: %v, %v", c.Nodes, err)
	}
	if err := c.Apply(Change{Remove: []Node{c.Nodes[1]}}); err != nil || c.NextNumber() != 2 {
		t.Errorf("after the second has left the next is %d: %v", c.NextNumber(), err)
	}
	if err := c.Apply(Change{Remove: []Node{at(1, "10.0.0.1")}}); !errors.Is(err, ErrLeft) {
		t.Errorf("this machine's own is taken out: %v", err)
	}
}

// TestAdopt: what is a machine's own stays so.
func TestAdopt(t *testing.T) {
	c := &Cluster{
		Name: "c", Here: "10.0.0.1", Key: "key", Made: true, Has: 7, Numbered: 9,
		Nodes: []Node{{Name: "c-1", Host: "10.0.0.1", Stale: true}},
	}
	told := (&Cluster{
		Name: "c", Here: "10.0.0.2", Key: "key", Revision: 4, Numbered: 5, Group: "g",
		Nodes: []Node{{Name: "c-1", Host: "10.0.0.1", Port: 1, Door: 2}, {Name: "c-2", Host: "10.0.0.2", Port: 1, Door: 2, Stale: true}},
	}).Shared()
	if told.Key != "" || told.Here != "" || told.Nodes[1].Stale {
		t.Errorf("shared: %+v", told)
	}
	if err := c.Adopt(told); err != nil {
		t.Fatal(err)
	}
	if c.Here != "10.0.0.1" || c.Key != "key" || !c.Made || c.Has != 7 || c.Numbered != 9 || c.Revision != 4 || c.Group != "g" || len(c.Nodes) != 2 || !c.Nodes[0].Stale || c.Nodes[1].Stale {
		t.Errorf("adopted: %+v", c)
	}
	told.Nodes = told.Nodes[1:]
	if err := c.Adopt(told); !errors.Is(err, ErrLeft) {
		t.Errorf("told of a cluster without it: %v", err)
	}
}
