package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// serveTLS serves h with a certificate of its own, and returns how a client finds it.
func serveTLS(t *testing.T, version uint16, h http.HandlerFunc) (where string, conns *atomic.Int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x := &x509.Certificate{SerialNumber: big.NewInt(1)} // which has no name, and was never good
	der, err := x509.CreateCertificate(rand.Reader, x, x, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{MaxVersion: version, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.Config.ErrorLog = nil
	conns = &atomic.Int64{}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	sum := sha256.Sum256(der)
	return s.URL + "#sha256=" + hex.EncodeToString(sum[:]), conns
}

// TestRemote: a client knows an instance by its fingerprint, shows it the token, and keeps the connection.
func TestRemote(t *testing.T) {
	var shown atomic.Value
	where, conns := serveTLS(t, tls.VersionTLS13, func(w http.ResponseWriter, r *http.Request) {
		shown.Store(r.Header.Get("Authorization"))
		answering(200, jsonType, `[]`)(w, r)
	})
	t.Setenv(EnvTokenFile, "")
	t.Setenv(EnvToken, "SESAME\n")
	c := New(where)
	defer c.Close()
	for range 3 {
		if _, err := c.Templates(t.Context()); err != nil || shown.Load() != "Bearer SESAME" {
			t.Fatalf("%v; the token shown is %v", err, shown.Load())
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("3 calls made %d connections, want 1", n)
	}
	if c.Socket() != where {
		t.Errorf("it is at %s", c.Socket())
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("OPEN\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvToken, "")
	t.Setenv(EnvTokenFile, file)
	other := New(where)
	defer other.Close()
	if _, err := other.Templates(t.Context()); err != nil || shown.Load() != "Bearer OPEN" {
		t.Errorf("from a file: %v; the token shown is %v", err, shown.Load())
	}
}

// TestRemoteImpostor: what has another certificate, speaks an older TLS, or none, gets nothing, least of all the token.
func TestRemoteImpostor(t *testing.T) {
	var asked atomic.Int64
	h := func(w http.ResponseWriter, r *http.Request) { asked.Add(1); answering(200, jsonType, `[]`)(w, r) }
	where, _ := serveTLS(t, tls.VersionTLS13, h)
	other, _ := serveTLS(t, tls.VersionTLS13, h)
	old, _ := serveTLS(t, tls.VersionTLS12, h)
	_, known, _ := strings.Cut(where, "#")
	address, _, _ := strings.Cut(other, "#")
	plain := httptest.NewServer(http.HandlerFunc(h))
	defer plain.Close()
	t.Setenv(EnvToken, "SESAME")
	for name, tc := range map[string]struct{ where, want string }{
		"another certificate": {address + "#" + known, "another fingerprint"},
		"TLS 1.2":             {old, "version"},
		"no TLS":              {"https://" + plain.Listener.Addr().String() + "#" + known, "TLS handshake"},
	} {
		_, err := New(tc.where).Templates(t.Context())
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "SESAME") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if _, err := New("https://" + l.Addr().String() + "#" + known).Templates(t.Context()); !errors.Is(err, ErrNoServer) {
		t.Errorf("where nothing listens: %v", err)
	}
}

// TestRemoteRefuses: an address without a fingerprint, without TLS, or without a token is refused before anything is sent.
func TestRemoteRefuses(t *testing.T) {
	known := strings.Repeat("ab", 32)
	good := "https://db1:1#sha256=" + known
	for _, tc := range []struct{ where, token, want string }{
		{"http://db1:1#sha256=" + known, "t", "only https"},
		{"mysql://db1:1#sha256=" + known, "t", "only https"},
		{"https://db1:1", "t", "fingerprint is missing"},
		{"https://db1:1#", "t", "fingerprint is missing"},
		{"https://db1:1#" + known, "t", "fingerprint is missing"},
		{"https://db1:1#sha256=" + known[2:], "t", "64 hexadecimal digits"},
		{"https://db1:1#sha256=" + known + "ab", "t", "64 hexadecimal digits"},
		{"https://db1:1#sha256=" + strings.Repeat("x", 64), "t", "64 hexadecimal digits"},
		{"https://db1#sha256=" + known, "t", "it is not https://HOST:PORT"},
		{"https://:1#sha256=" + known, "t", "it is not https://HOST:PORT"},
		{"https://a@db1:1#sha256=" + known, "t", "it is not https://HOST:PORT"},
		{"https://db1:1/path#sha256=" + known, "t", "it is not https://HOST:PORT"},
		{"https://db1:1?q#sha256=" + known, "t", "it is not https://HOST:PORT"},
		{"https://db1:x#sha256=" + known, "t", "not a URL"},
		{good, "", "the token is missing"},
		{good, " \n", "the token is missing"},
		{good, "t\r\nX: y", "the token is not one"},
	} {
		t.Setenv(EnvToken, tc.token)
		t.Setenv(EnvTokenFile, "")
		_, err := New(tc.where).Status(t.Context())
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.where, err, tc.want)
		}
	}
	if _, err := NewRemote(good, "").Status(t.Context()); err == nil || !strings.Contains(err.Error(), "the token is missing") {
		t.Errorf("without a token: %v", err)
	}
	t.Setenv(EnvToken, "")
	t.Setenv(EnvTokenFile, "/nowhere/token")
	if _, err := New(good).Status(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	endless := filepath.Join(t.TempDir(), "endless") // sparse, so that a failure does not take the memory of the machine
	if err := os.WriteFile(endless, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(endless, 64<<20); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/dev/null": "it is empty", endless: "is no token"} {
		t.Setenv(EnvTokenFile, path)
		if _, err := New(good).Status(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
