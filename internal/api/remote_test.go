package api

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/lobby"
	"github.com/ramaria-db/ramaria/internal/selfsigned"
)

const token = "SESAME"

// askRemote lets the API for other machines answer a request with headers.
func askRemote(h http.Handler, o op, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(o.method, "https://db1:3443"+o.path, strings.NewReader(o.body))
	if o.body != "" {
		r.Header.Set("Content-Type", jsonType)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestRemoteCalls: clients on other machines may do what leases need, of all the calls that there are, and see nothing of
// the instance's account and paths.
func TestRemoteCalls(t *testing.T) {
	may := []string{
		"getStatus", "listTemplates", "createDatabase", "getDatabase", "dropDatabase", "resetDatabase", "setSavepoint", "rollbackDatabase", "keepDatabase",
		"getDocument",
	}
	c := loadContract(t)
	for id, o := range ops {
		if id == "createTemplate" {
			continue // TestRemoteTemplate
		}
		var log buffer
		f := full()
		w := askRemote(RemoteHandler(f, token, log.logger()), o, "Authorization", "Bearer "+token)
		if !slices.Contains(may, id) {
			if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), client.CodeForbidden) || len(f.requests()) > 0 {
				t.Errorf("%s is answered with %d, and the instance was asked %v: %s", id, w.Code, f.requests(), w.Body)
			}
			continue
		}
		if w.Code < 200 || w.Code > 299 {
			t.Errorf("%s: %d %s", id, w.Code, w.Body)
		}
		if err := c.check(exchange{httptest.NewRequest(o.method, "http://ramaria"+o.path, http.NoBody), []byte(o.body), w.Code, w.Header(), w.Body.Bytes()}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if id == "getDocument" {
			continue // its examples have all that
		}
		for _, secret := range []string{"/run/", "/dev/shm", "/usr/", "mysql://app", `"app"`, "127.0.0.1", "93 %"} {
			if strings.Contains(w.Body.String(), secret) {
				t.Errorf("%s says %s: %s", id, secret, w.Body)
			}
		}
		if strings.Contains(log.String(), token) {
			t.Errorf("the log has the token: %s", log.String())
		}
	}
	var d client.Database
	w := askRemote(RemoteHandler(full(), token, (&buffer{}).logger()), ops["createDatabase"], "Authorization", "bearer "+token)
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || d.Host != "db1" || d.Socket != "" || d.URL != "mysql://shop_1:p%2Fw%3A%40@db1:41233/shop_1" {
		t.Errorf("a lease is %+v, %v", d, err)
	}
}

// TestRemoteToken: without the token nothing is done.
func TestRemoteToken(t *testing.T) {
	for name, header := range map[string]string{
		"none": "", "another": "Bearer OPEN", "longer": "Bearer " + token + "E", "shorter": "Bearer SESAM", "empty": "Bearer ", "scheme": "Basic " + token, "bare": token,
	} {
		f := full()
		var log buffer
		w := askRemote(RemoteHandler(f, token, log.logger()), ops["createDatabase"], "Authorization", header)
		if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), client.CodeUnauthorized) || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if len(f.requests()) > 0 || log.String() != "" {
			t.Errorf("%s: the instance was asked %v; the log has %q", name, f.requests(), log.String())
		}
	}
	if w := askRemote(RemoteHandler(full(), "", (&buffer{}).logger()), ops["getStatus"], "Authorization", "Bearer "); w.Code != http.StatusUnauthorized {
		t.Errorf("where there is no token, none is right: %d", w.Code)
	}
}

// TestRemoteHost: a lease names the host that the client has named, if that can be one.
func TestRemoteHost(t *testing.T) {
	for given, want := range map[string]string{
		"db1": "db1", "db1.example.org:3443": "db1.example.org", "192.168.1.5:3443": "192.168.1.5", "[fe80::1]:3443": "fe80::1", "[::1]": "::1",
		"a b": "", "user@db1": "", "": "", "db1/x": "", "@:1": "", strings.Repeat("x", 300): "",
	} {
		f := full()
		w := askRemote(RemoteHandler(f, token, (&buffer{}).logger()), ops["getDatabase"], "Authorization", "Bearer "+token, "Host", given)
		var d client.Database
		if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || d.Host != want {
			t.Errorf("%q: %d %s, want %s", given, w.Code, w.Body, want)
		}
		if want == "" && (w.Code != http.StatusBadRequest || len(f.requests()) > 0) {
			t.Errorf("%q: %d, and the instance was asked %v", given, w.Code, f.requests())
		}
	}
}

// TestRemoteTemplate: one that is there is found; one that is to be built is given up.
func TestRemoteTemplate(t *testing.T) {
	f := full()
	w := askRemote(RemoteHandler(f, token, (&buffer{}).logger()), ops["createTemplate"], "Authorization", "Bearer "+token)
	if w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "p/w") || f.requests()[len(f.requests())-1] != "no template shop" {
		t.Errorf("to be built: %d %s, requests %v", w.Code, w.Body, f.requests())
	}
	f = full()
	f.claim = client.TemplateClaim{State: client.StateReady, Template: client.Template{Name: "shop"}}
	w = askRemote(RemoteHandler(f, token, (&buffer{}).logger()), ops["createTemplate"], "Authorization", "Bearer "+token)
	if w.Code != http.StatusOK || len(f.requests()) != 1 {
		t.Errorf("ready: %d %s, requests %v", w.Code, w.Body, f.requests())
	}
}

// TestHalfOpen: who begins TLS and goes on with nothing holds up nobody who has the token.
func TestHalfOpen(t *testing.T) {
	cert, err := selfsigned.New("test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ListenTLS(t.Context(), "203.0.113.1:1", cert); err == nil {
		t.Error("it listens at an address that is not this machine's")
	}
	l, err := ListenTLS(t.Context(), "127.0.0.1:0", cert)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, l, RemoteHandler(full(), token, (&buffer{}).logger()), (&buffer{}).logger())
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	c := client.NewRemote("https://"+l.Addr().String()+"#sha256="+selfsigned.Fingerprint(cert), token)
	defer c.Close()
	for n := range 1500 {
		half, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = half.Close() })
		if _, err := half.Write([]byte{22, 3, 1}); err != nil && n < 100 {
			t.Fatal(err)
		}
		if n%500 > 0 {
			continue
		}
		start := time.Now()
		if _, err := c.Status(t.Context()); err != nil || time.Since(start) > lobby.Default.Time/2 {
			t.Errorf("beside %d others: %v, after %s", n, err, time.Since(start))
		}
		c.Close() // the next makes a connection
	}
}

// TestRemoteClient speaks to the API as a client on another machine does.
func TestRemoteClient(t *testing.T) {
	cert, err := selfsigned.New("test")
	if err != nil {
		t.Fatal(err)
	}
	serve := func(h http.Handler) (address string) {
		l, err := ListenTLS(t.Context(), "127.0.0.1:0", cert)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		var log buffer
		go func() { ended <- Serve(ctx, l, h, log.logger()) }()
		t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if strings.Contains(log.String(), token) {
				t.Errorf("the log has the token: %s", log.String())
			}
		})
		return l.Addr().String()
	}
	address := serve(RemoteHandler(full(), token, (&buffer{}).logger()))
	t.Setenv(client.EnvToken, token)
	c := client.New("https://" + address + "#sha256=" + selfsigned.Fingerprint(cert))
	defer c.Close()
	for range 3 {
		d, err := c.NewDatabase(t.Context(), client.DatabaseRequest{Template: "shop"})
		if err != nil || d.Name != "shop_1" || d.Host != "127.0.0.1" || d.Socket != "" {
			t.Fatalf("%+v, %v", d, err)
		}
		if err := c.DropDatabase(t.Context(), d.Name); err != nil {
			t.Fatal(err)
		}
	}
	_, err = c.Metrics(t.Context())
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != client.CodeForbidden {
		t.Errorf("metrics: %v", err)
	}
}
