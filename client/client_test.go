package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain shows that a Client which is not closed leaves nothing running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves h on a socket, and returns its path.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	socket := tempSocket(t)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return socket
}

// tempSocket is a path for a socket that is short enough, whatever TMPDIR is.
func tempSocket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ramaria-client-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "api.sock")
}

// answering answers everything alike.
func answering(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// TestNoServer tells a socket on which no server listens from a server that fails.
func TestNoServer(t *testing.T) {
	stale := tempSocket(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	file := tempSocket(t)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hangsUp := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for name, tc := range map[string]struct {
		socket string
		none   bool
		want   string
	}{
		"no socket":  {tempSocket(t), true, "there is no such socket\nhint: ramaria ls"},
		"stale":      {stale, true, "nothing listens on the socket now\nhint: ramaria ls"},
		"a file":     {file, false, "it is not one\nhint: ramaria env"},
		"hangs up":   {hangsUp, false, "it hung up before it answered"},
		"broken way": {file + "/api.sock", false, "not a directory"},
	} {
		_, err := New(tc.socket).Status(t.Context())
		if errors.Is(err, ErrNoServer) != tc.none || err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.socket) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFromEnv finds the socket in the variable.
func TestFromEnv(t *testing.T) {
	t.Setenv(EnvVar, "")
	if _, err := FromEnv(); !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "\nhint: eval") {
		t.Errorf("not set: %v", err)
	}
	t.Setenv(EnvVar, "/x/api.sock")
	if c, err := FromEnv(); err != nil || c.Socket() != "/x/api.sock" {
		t.Errorf("set: %v, %v", c, err)
	}
}

// TestOwner refuses a socket of another user before anything is sent to it.
func TestOwner(t *testing.T) {
	asked := false
	socket := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		answering(200, jsonType, "[]")(w, nil)
	})
	if _, err := New(socket).Marks(t.Context()); err != nil || !asked {
		t.Fatalf("one's own socket: %v, asked: %v", err, asked)
	}
	asked = false
	if err := os.Lchown(socket, 4242, -1); errors.Is(err, syscall.EPERM) {
		t.Skip("SKIPPED: only root can give a socket to another user")
	} else if err != nil {
		t.Fatal(err)
	}
	_, err := New(socket).Marks(t.Context())
	if err == nil || asked || errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "belongs to user 4242") {
		t.Errorf("another's socket: %v, asked: %v", err, asked)
	}
	link := tempSocket(t)
	if err := os.Symlink(socket, link); err != nil {
		t.Fatal(err)
	}
	if _, err := New(link).Marks(t.Context()); err == nil || asked {
		t.Errorf("a link to another's socket: %v, asked: %v", err, asked)
	}
}

// TestPeer knows who listens, whatever the file says.
func TestPeer(t *testing.T) {
	c, err := net.Dial("unix", serve(t, answering(200, jsonType, "[]")))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := checkPeer(c); err != nil {
		t.Errorf("oneself: %v", err)
	}
	for uid, trusted := range map[uint32]bool{0: true, uint32(os.Geteuid()): true, 4242: false, 1<<32 - 1: false} {
		if err := trust(uid, "is listened on by"); (err == nil) != trusted {
			t.Errorf("user %d: %v", uid, err)
		}
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if err := checkPeer(a); err == nil {
		t.Error("a pipe has no peer")
	}
}

// TestErrors reads errors of the API, and those of anything else that listens.
func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		h    http.HandlerFunc
		want Error
		text string
	}{
		"hint": {
			answering(404, jsonType, `{"error":{"code":"not_found","message":"m","hint":"h","more":1}}`),
			Error{404, CodeNotFound, "m", "h"}, "m\nhint: h",
		},
		"no hint": {answering(409, jsonType, `{"error":{"code":"busy","message":"m"}}`), Error{409, CodeBusy, "m", ""}, "m"},
		"foreign": {
			answering(502, "text/html", "<h1>bad</h1>"),
			Error{502, CodeInternal, `ask the instance: 502 Bad Gateway, and no reason given: "<h1>bad</h1>"`, ""}, "",
		},
		"redirect": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://elsewhere/", http.StatusTemporaryRedirect)
			},
			Error{307, CodeInternal, `ask the instance: 307 Temporary Redirect, and no reason given: ""`, ""}, "",
		},
	} {
		err := New(serve(t, tc.h)).DeleteMark(t.Context(), "a")
		var got *Error
		if !errors.As(err, &got) || *got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, err, tc.want)
		}
		if tc.text != "" && err.Error() != tc.text {
			t.Errorf("%s: text %q", name, err)
		}
	}
}

// TestAnswers passes over unknown fields, and refuses what is not the API's.
func TestAnswers(t *testing.T) {
	if m, err := New(serve(t, answering(200, jsonType, `[{"label":"a","colour":"red"}]`))).Marks(t.Context()); err != nil || m[0].Label != "a" {
		t.Errorf("unknown field: %v, %v", m, err)
	}
	for name, tc := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"text":      {answering(200, "text/plain", strings.Repeat("x", 1000)), `not JSON but "` + strings.Repeat("x", maxForeign) + `..."`},
		"broken":    {answering(200, jsonType, `[{"label":`), "read answer"},
		"type":      {answering(200, jsonType, `[{"label":7}]`), "read answer"},
		"too large": {answering(200, jsonType, strings.Repeat(" ", maxAnswer)+"[]"), "more than 4194304 bytes"},
	} {
		if _, err := New(serve(t, tc.h)).Marks(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRequest keeps a label one segment of the path, and sends the body as JSON.
func TestRequest(t *testing.T) {
	var got string
	c := New(serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Method + " " + r.RequestURI + " " + r.Header.Get("Content-Type")
		answering(200, jsonType, "{}")(w, r)
	}))
	ctx := t.Context()
	for want, call := range map[string]func() error{
		"PUT /v1/templates/a%2Fb%25 ":         func() error { _, err := c.PutTemplate(ctx, "a/b%"); return err },
		"DELETE /v1/templates/%C3%A9 ":        func() error { return c.DeleteTemplate(ctx, "é") },
		"POST /v1/databases/a%20b/reset ":     func() error { _, err := c.ResetDatabase(ctx, "a b", ""); return err },
		"POST /v1/databases/a%2Fb/savepoint ": func() error { return c.SetSavepoint(ctx, "a/b") },
		"POST /v1/databases/%3F/rollback ":    func() error { _, err := c.RollbackDatabase(ctx, "?", ""); return err },
		"DELETE /v1/databases/%3F ":           func() error { return c.DropDatabase(ctx, "?") },
		"POST /v1/databases " + jsonType:      func() error { _, err := c.NewDatabase(ctx, DatabaseRequest{Template: "a"}); return err },
		"GET /v1/databases/a%2Fb ":            func() error { _, err := c.Database(ctx, "a/b"); return err },
		"POST /v1/databases/a%25/keep ":       func() error { _, err := c.KeepDatabase(ctx, "a%"); return err },
		"POST /v1/templates " + jsonType:      func() error { _, err := c.CreateTemplate(ctx, TemplateRequest{Name: "a", Key: "b"}); return err },
		"GET /v1/pool ":                       func() error { _, err := c.Limits(ctx); return err },
		"PUT /v1/pool " + jsonType:            func() error { _, err := c.SetLimits(ctx, Limits{}); return err },
		"GET /metrics ":                       func() error { _, err := c.Metrics(ctx); return err },
		"POST /v1/marks/a%2Fb%3F/rewind ":     func() error { _, err := c.Rewind(ctx, "a/b?"); return err },
		"DELETE /v1/marks/%23 ":               func() error { return c.DeleteMark(ctx, "#") },
		"POST /v1/branch " + jsonType:         func() error { _, err := c.Branch(ctx, BranchRequest{"a"}); return err },
	} {
		if err := call(); err != nil || got != want {
			t.Errorf("sent %q, want %q: %v", got, want, err)
		}
	}
}

// TestBodies sends what is required also where it is zero, and nothing else that is: the
// API refuses null.
func TestBodies(t *testing.T) {
	var got string
	c := New(serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = string(b)
		answering(200, jsonType, "{}")(w, r)
	}))
	ctx := t.Context()
	for want, call := range map[string]func() error{
		`{"name":"","key":""}`:          func() error { _, err := c.CreateTemplate(ctx, TemplateRequest{}); return err },
		`{"max_databases":0,"spare":0}`: func() error { _, err := c.SetLimits(ctx, Limits{}); return err },
		`{"template":""}`:               func() error { _, err := c.NewDatabase(ctx, DatabaseRequest{}); return err },
		`{"template":"a","wait_s":0.25}`: func() error {
			_, err := c.NewDatabase(ctx, DatabaseRequest{Template: "a", WaitSeconds: 0.25})
			return err
		},
		`{"name":"","key":"","wait_s":2,"build_s":1}`: func() error {
			_, err := c.CreateTemplate(ctx, TemplateRequest{WaitSeconds: 2, BuildSeconds: 1})
			return err
		},
	} {
		if err := call(); err != nil || got != want {
			t.Errorf("sent %s, want %s: %v", got, want, err)
		}
	}
}

// TestNotANumber fails before anything is sent: JSON has no such number.
func TestNotANumber(t *testing.T) {
	c := New(serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }))
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := c.NewDatabase(t.Context(), DatabaseRequest{Template: "a", WaitSeconds: bad}); err == nil {
			t.Errorf("a wait of %v passes", bad)
		}
		if _, err := c.CreateTemplate(t.Context(), TemplateRequest{Name: "a", Key: "b", BuildSeconds: bad}); err == nil {
			t.Errorf("%v for a build passes", bad)
		}
	}
}

// TestStates tells a database that is kept, and a template that is there, from others.
func TestStates(t *testing.T) {
	d, err := New(serve(t, answering(200, jsonType, `{"name":"a","kept":true}`))).Database(t.Context(), "a")
	if err != nil || !d.Kept || !d.Expires.IsZero() {
		t.Errorf("kept: %+v, %v", d, err)
	}
	for body, want := range map[string]bool{
		`{"state":"ready","template":{"name":"t"}}`:                         false,
		`{"state":"build","template":{"name":"t"},"database":{"name":"t"}}`: true,
	} {
		claim, err := New(serve(t, answering(200, jsonType, body))).CreateTemplate(t.Context(), TemplateRequest{})
		if err != nil || (claim.Database != nil) != want || (claim.State == StateBuild) != want || claim.Template.Name != "t" {
			t.Errorf("%s: %+v, %v", body, claim, err)
		}
	}
}

// TestMetrics gives text as it is, and errors as of any call.
func TestMetrics(t *testing.T) {
	if b, err := New(serve(t, answering(200, "text/plain", "a 1\n"))).Metrics(t.Context()); err != nil || string(b) != "a 1\n" {
		t.Errorf("%q, %v", b, err)
	}
	_, err := New(serve(t, answering(503, jsonType, `{"error":{"code":"full","message":"m"}}`))).Metrics(t.Context())
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != CodeFull {
		t.Errorf("refused: %v", err)
	}
}

// TestCancelled gives the context's own error.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := New(serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() }))
	if _, err := c.Status(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
