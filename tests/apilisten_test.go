package tests

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/server"
)

// remoteAPI is the API of an instance as clients on other machines have it.
type remoteAPI struct {
	h            *testHome
	where, token string
}

// remoteOf reads what ramaria env prints for them.
func (h *testHome) remoteOf(name string) remoteAPI {
	h.t.Helper()
	values := map[string]string{}
	for line := range strings.Lines(h.ramaria("env", name, "--format", "remote")) {
		k, v, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "export ")), "=")
		values[k] = strings.Trim(v, "'")
	}
	r := remoteAPI{h, values[client.EnvVar], values[client.EnvToken]}
	if len(values) != 2 || !strings.HasPrefix(r.where, "https://") || len(r.token) < 26 {
		h.t.Fatalf("ramaria env --format remote has %v", values)
	}
	return r
}

// client is one with a token.
func (r remoteAPI) client(token string) *client.Client {
	c := client.NewRemote(r.where, token)
	r.h.t.Cleanup(c.Close)
	return c
}

// ask asks as any program could that looks at no fingerprint.
func (r remoteAPI) ask(method, scheme, path, token string) (status int, body string) {
	r.h.t.Helper()
	address, _, _ := strings.Cut(strings.TrimPrefix(r.where, "https://"), "#")
	ctx, cancel := context.WithTimeout(r.h.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, scheme+"://"+address+path, nil)
	if err != nil {
		r.h.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402 -- it is the one that must be refused
	resp, err := transport.RoundTrip(req)
	if err != nil {
		r.h.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.h.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// refused says that a call was, with a code.
func (r remoteAPI) refused(what string, err error, code string) {
	r.h.t.Helper()
	var e *client.Error
	if !errors.As(err, &e) || e.Code != code {
		r.h.t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// TestAPIListen: clients on other machines lease clones over TLS and with a token, and can do nothing else.
func TestAPIListen(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	const host = "127.0.0.2" // as another machine would: not where everything is anyway
	at := net.JoinHostPort(host, freePort(t))
	_, talk, err := h.try("up", "main", "--server", h.daemon(), "--database", "shop", "--api-listen", at)
	if err == nil || !strings.Contains(talk, "hint: add --set bind_address="+host) {
		t.Errorf("where the server does not listen: %v: %s", err, talk)
	}
	plain := openDSN(t, h.ramaria("up", "main", "--server", h.daemon(), "--database", "shop", "--set", "bind_address="+host, "--api-listen", at))
	h.exec(plain, "CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	h.ramaria("template", "add", "shop")
	r := h.remoteOf("main")
	if status := h.ramaria("status", "main"); !strings.Contains(status, r.where) || strings.Contains(status, r.token) {
		t.Errorf("status does not show where the API is, or it shows the token:\n%s", status)
	}
	if json := h.ramaria("status", "main", "--json"); !strings.Contains(json, `"remote_api": "`+r.where+`"`) || strings.Contains(json, r.token) {
		t.Errorf("status --json does not have where the API is, or it has the token:\n%s", json)
	}
	h.leaseAbroad(r, "at first")
	h.frontAbroad(r)

	c := r.client("WRONG")
	_, err = c.Status(t.Context())
	r.refused("a wrong token", err, client.CodeUnauthorized)
	for _, token := range []string{"", "WRONG", r.token + "A"} {
		if status, body := r.ask("GET", "https", "/v1/status", token); status != http.StatusUnauthorized {
			t.Errorf("with the token %q: %d %s", token, status, body)
		}
	}
	for _, o := range []struct{ method, path string }{
		{"GET", "/metrics"}, {"GET", "/v1/marks"}, {"POST", "/v1/branch"}, {"POST", "/v1/move"}, {"GET", "/v1/databases"}, {"PUT", "/v1/templates/shop"}, {"DELETE", "/v1/templates/shop"}, {"PUT", "/v1/pool"},
	} {
		if status, body := r.ask(o.method, "https", o.path, r.token); status != http.StatusForbidden {
			t.Errorf("%s %s: %d %s", o.method, o.path, status, body)
		}
	}
	if status, body := r.ask("GET", "http", "/v1/status", r.token); status != http.StatusBadRequest || strings.Contains(body, "{") {
		t.Errorf("plain HTTP: %d %s", status, body)
	}
	impostor := r
	impostor.where = r.where[:len(r.where)-64] + strings.Repeat("0", 64)
	if _, err := impostor.client(r.token).Status(t.Context()); err == nil || !strings.Contains(err.Error(), "another fingerprint") {
		t.Errorf("with another fingerprint: %v", err)
	}
	_, err = r.client(r.token).CreateTemplate(t.Context(), client.TemplateRequest{Name: "other", Key: "k"})
	r.refused("a template that is to be built", err, client.CodeForbidden)
	if list := h.ramaria("template", "ls"); strings.Contains(list, "other") {
		t.Errorf("it is there:\n%s", list)
	}

	h.ramaria("down", "main")
	h.ramaria("up", "main")
	if again := h.remoteOf("main"); again != r {
		t.Errorf("after a restart it is at %s, before at %s", again.where, r.where)
	}
	h.leaseAbroad(r, "after a restart")
	h.ramaria("move", "main", "--volume", "disk")
	h.leaseAbroad(r, "after a move")
	h.nowhere(r.token)
	if listing := h.ramaria("branch", "main", "other") + h.ramaria("status", "other", "--json"); strings.Contains(listing, "remote_api") {
		t.Errorf("a branch is open, too:\n%s", listing)
	}
	h.ramaria("down", "main")
	h.ramaria("up", "main", "--api-listen", "off")
	if c, err := net.Dial("tcp", at); err == nil {
		t.Error("it is open though that was taken away")
		_ = c.Close()
	}
	if _, talk, err := h.try("env", "main", "--format", "remote"); err == nil || !strings.Contains(talk, "--api-listen ADDRESS:PORT") {
		t.Errorf("how to reach it then: %v: %s", err, talk)
	}
}

// frontAbroad has any client use clones, by a door on its own machine.
func (h *testHome) frontAbroad(r remoteAPI) {
	h.t.Helper()
	by := func(token string) *exec.Cmd {
		cmd := h.command("front")
		cmd.Env = append(cmd.Env, client.EnvVar+"="+r.where, client.EnvToken+"="+token)
		return cmd
	}
	if out, err := by("WRONG").CombinedOutput(); err == nil || !strings.Contains(string(out), "does not have the token") {
		h.t.Errorf("a door with a wrong token: %v: %s", err, out)
	}
	d := h.startFrontBy(by(r.token))
	defer d.end()
	if _, shown := d.url.User.Password(); shown { // which would be in the log of whoever keeps the door
		h.t.Errorf("the door prints the token: %s", d.url)
	}
	d.url.User = url.UserPassword(d.url.User.Username(), r.token)
	one, other := d.open(d.config("shop@1")), d.open(d.config("shop@2"))
	h.exec(one, "INSERT INTO t VALUES (2)")
	h.rows("a clone by the door", one, "1 2")
	h.rows("another by the door", other, "1")
	h.exec(one, "CALL ramaria.reset()")
	h.rows("after a reset by the door", one, "1")
	for database, want := range map[string]string{"shop": "TEMPLATE@NAME", "mysql": "TEMPLATE@NAME", "none@1": "none"} {
		if err := d.open(d.config(database)).Ping(); err == nil || !strings.Contains(err.Error(), want) {
			h.t.Errorf("database %s by the door: %v", database, err)
		}
	}
	stranger := d.config("shop@1")
	stranger.Passwd = "WRONG"
	if err := d.open(stranger).Ping(); err == nil || !strings.Contains(err.Error(), "Access denied") {
		h.t.Errorf("a wrong password at the door: %v", err)
	}
	var cipher, name string
	err := one.QueryRow("SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher)
	if err != nil || h.srv.Flavour == server.MySQL && cipher == "" {
		h.t.Errorf("the door's connection to the server is encrypted by %q: %v", cipher, err)
	}
}

// leaseAbroad uses a clone, by the client and by the command, as on another machine.
func (h *testHome) leaseAbroad(r remoteAPI, when string) {
	h.t.Helper()
	c := r.client(r.token)
	d, err := c.NewDatabase(h.t.Context(), client.DatabaseRequest{Template: "shop"})
	if err != nil {
		h.t.Fatalf("%s: %v", when, err)
	}
	if d.Host != "127.0.0.2" || d.Socket != "" {
		h.t.Errorf("%s the lease is at %s, and the socket %q", when, d.Host, d.Socket)
	}
	db := openDSN(h.t, d.URL)
	h.exec(db, "INSERT INTO t VALUES (2)")
	if _, err := c.ResetDatabase(h.t.Context(), d.Name, ""); err != nil {
		h.t.Errorf("%s: %v", when, err)
	}
	h.rows(when, db, "1")
	if _, err := c.Database(h.t.Context(), d.Name); err != nil {
		h.t.Errorf("%s: renew: %v", when, err)
	}
	if err := c.DropDatabase(h.t.Context(), d.Name); err != nil {
		h.t.Errorf("%s: %v", when, err)
	}
	s, err := c.Status(h.t.Context())
	if err != nil || s.Name != "main" || s.Endpoint.Password != "" || s.Endpoint.User != "" || s.Endpoint.Socket != "" || s.Endpoint.Host != "127.0.0.2" {
		h.t.Errorf("%s status is %+v, %v", when, s.Endpoint, err)
	}
	cmd := h.command("db", "new", "shop")
	cmd.Env = append(cmd.Env, client.EnvVar+"="+r.where, client.EnvToken+"="+r.token)
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "@127.0.0.2:") {
		h.t.Errorf("%s: ramaria db new: %s, %v", when, out, err)
	}
}

// nowhere fails if a token is in an argument of a process, or in a file of the home, logs among them, other than api.json.
func (h *testHome) nowhere(token string) {
	h.t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, path := range lines {
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(token)) {
			h.t.Errorf("an argument has the token: %s", path)
		}
	}
	found := 0
	err = filepath.WalkDir(h.home, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.Contains(path, "/data/") || strings.Contains(path, "/servers/") {
			return nil //nolint:nilerr // what goes away meanwhile has it no more
		}
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte(token)) {
			return nil //nolint:nilerr // likewise
		}
		found++
		if fi, err := e.Info(); err != nil || fi.Mode().Perm() != 0o600 || e.Name() != "api.json" {
			h.t.Errorf("%s has the token, with mode %v, %v", path, fi.Mode(), err)
		}
		return nil
	})
	if err != nil || found == 0 {
		h.t.Errorf("looked for the token in %d files that have it: %v", found, err)
	}
}
