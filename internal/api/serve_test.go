package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/client"
)

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// TestClient makes every call with the real client over a real socket.
func TestClient(t *testing.T) {
	f := full()
	socket, _ := start(t, Handler(f, (&buffer{}).logger()))
	var c Instance = client.New(socket)
	ctx := t.Context()
	same := func(what string, want, got any, err error) {
		t.Helper()
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, d)
		}
	}
	status, err := c.Status(ctx)
	same("status", f.status, status, err)
	branch, err := c.Branch(ctx, client.BranchRequest{Name: "shop-2"})
	same("branch", f.branch, branch, err)
	marks, err := c.Marks(ctx)
	same("marks", f.marks, marks, err)
	mark, err := c.Mark(ctx, client.MarkRequest{Label: "a", Replace: true})
	same("mark", f.marks[0], mark, err)
	rewind, err := c.Rewind(ctx, "a")
	same("rewind", f.rewind, rewind, err)
	if err := c.DeleteMark(ctx, "a"); err != nil {
		t.Error(err)
	}
	replica, err := c.AddReplica(ctx, client.ReplicaRequest{Name: "copy", Volume: "disk", Sync: true})
	same("replica", f.branch, replica, err)
	promotion, err := c.Promote(ctx, client.PromoteRequest{AcceptDivergence: true})
	same("promotion", f.promotion, promotion, err)
	const odd = "a b`é%2f?#." // a database's name, but for a file
	request := client.DatabaseRequest{Template: odd, Name: "shop_1", TTLSeconds: 0.5}
	templates, err := c.Templates(ctx)
	same("templates", f.templates, templates, err)
	template, err := c.PutTemplate(ctx, odd)
	same("template", f.templates[0], template, err)
	same("delete template", nil, nil, c.DeleteTemplate(ctx, odd))
	databases, err := c.Databases(ctx)
	same("databases", f.databases, databases, err)
	database, err := c.NewDatabase(ctx, request)
	same("database", f.databases[0], database, err)
	reset, err := c.ResetDatabase(ctx, odd, client.RestoreCounters)
	same("reset", f.reset, reset, err)
	reset, err = c.ResetDatabase(ctx, odd, client.KeepCounters)
	same("reset without counters", f.reset, reset, err)
	same("savepoint", nil, nil, c.SetSavepoint(ctx, odd))
	reset, err = c.RollbackDatabase(ctx, odd, "")
	same("roll back to the savepoint", f.reset, reset, err)
	reset, err = c.RollbackDatabase(ctx, odd, client.KeepCounters)
	same("roll back to the savepoint without counters", f.reset, reset, err)
	same("drop", nil, nil, c.DropDatabase(ctx, odd))
	database, err = c.Database(ctx, odd)
	same("one database", f.databases[0], database, err)
	database, err = c.KeepDatabase(ctx, odd)
	same("keep", f.databases[0], database, err)
	wanted := client.TemplateRequest{Name: "shop", Key: odd + "\n\x00", WaitSeconds: 0.5, BuildSeconds: 1}
	claim, err := c.CreateTemplate(ctx, wanted)
	same("claim", f.claim, claim, err)
	limits, err := c.Limits(ctx)
	same("limits", f.limits, limits, err)
	limits, err = c.SetLimits(ctx, client.Limits{MaxDatabases: 7})
	same("set limits", f.limits, limits, err)
	metrics, err := c.Metrics(ctx)
	same("metrics", f.metrics, string(metrics), err)
	want := []any{
		"status", client.BranchRequest{Name: "shop-2"}, "marks", client.MarkRequest{Label: "a", Replace: true}, "rewind a", "delete a", client.ReplicaRequest{Name: "copy", Volume: "disk", Sync: true}, client.PromoteRequest{AcceptDivergence: true},
		"templates", "template " + odd, "no template " + odd, "databases", request, "reset " + odd + ", restore counters", "reset " + odd + ", keep counters", "savepoint of " + odd,
		"rollback of " + odd + ", restore counters", "rollback of " + odd + ", keep counters", "drop " + odd,
		"get " + odd, "keep " + odd, wanted, "limits", client.Limits{MaxDatabases: 7}, "metrics",
	}
	same("requests", want, f.requests(), nil)
	// Labels that are no labels stay one segment of the path.
	for _, label := range []string{"a/b", "..", ".", "", "a?b", "a%2fb", "é #"} {
		var refused *client.Error
		if _, err := c.Rewind(ctx, label); !errors.As(err, &refused) || refused.Status/100 != 4 {
			t.Errorf("rewind to %q: %v", label, err)
		}
	}
	for _, name := range []string{"a/b", "..", ".", "", "\x00", "\xff", "/"} {
		var refused *client.Error
		if _, err := c.ResetDatabase(ctx, name, ""); !errors.As(err, &refused) || refused.Status/100 != 4 {
			t.Errorf("reset %q: %v", name, err)
		}
	}
	same("requests", want, f.requests(), nil)
}

// TestClientErrors carries an error's parts from the Instance to the caller.
func TestClientErrors(t *testing.T) {
	for name, e := range errorCases {
		socket, _ := start(t, Handler(failing(e.err), (&buffer{}).logger()))
		_, err := client.New(socket).Rewind(t.Context(), "a")
		var got *client.Error
		if !errors.As(err, &got) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := &client.Error{Status: e.status, Code: e.want.Code, Message: e.want.Message, Hint: e.want.Hint}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestClientTooLarge reads the answer to a request that is answered before it was read
// whole, and makes another call.
func TestClientTooLarge(t *testing.T) {
	socket, _ := start(t, Handler(full(), (&buffer{}).logger()))
	c := client.New(socket)
	var refused *client.Error
	if _, err := c.Branch(t.Context(), client.BranchRequest{Name: strings.Repeat("x", 4<<20)}); !errors.As(err, &refused) || refused.Code != client.CodeTooLarge {
		t.Errorf("too large: %v", err)
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Error(err)
	}
}

// blocking is a fake whose calls say on entered that they began, and then last until
// their context ends, or release is closed.
func blocking() (f *fake, entered chan context.Context, release chan struct{}) {
	f, entered, release = full(), make(chan context.Context, 8), make(chan struct{})
	f.during = func(ctx context.Context) error {
		entered <- ctx
		select {
		case <-ctx.Done():
			return errors.New("undone")
		case <-release:
			return nil
		}
	}
	return f, entered, release
}

// TestCallerGoesAway ends the context of a call, with a body and without one.
func TestCallerGoesAway(t *testing.T) {
	f, entered, _ := blocking()
	var log buffer
	socket, _ := start(t, Handler(f, log.logger()))
	c := client.New(socket)
	for name, call := range map[string]func(context.Context) error{
		"with a body": func(ctx context.Context) error {
			_, err := c.Branch(ctx, client.BranchRequest{Name: "a"})
			return err
		},
		"without": func(ctx context.Context) error { _, err := c.Rewind(ctx, "a"); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		serving := <-entered
		if serving.Err() != nil {
			t.Fatalf("%s: it ended before the caller went away", name)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the caller got %v", name, err)
		}
		select {
		case <-serving.Done():
		case <-time.After(patience):
			t.Fatalf("%s: the instance is not told", name)
		}
	}
	// Nothing failed; somebody changed their mind. The lines may be a moment late.
	for end := time.Now().Add(patience); strings.Count(log.String(), "given up") < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log: %s", log.String())
		}
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the log: %s", log.String())
	}
}

// begin serves h with short waits.
func begin(t *testing.T, h http.Handler, w waits) (socket string, stop func() error) {
	t.Helper()
	socket = tempSocket(t)
	l, err := Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, h, (&buffer{}).logger(), w) }()
	return socket, func() error { cancel(); return <-ended }
}

// TestDrain lets a request end that is under way, and accepts no other.
func TestDrain(t *testing.T) {
	f, entered, release := blocking()
	socket, stop := begin(t, Handler(f, (&buffer{}).logger()), waits{patience, patience, patience})
	called, stopped := make(chan error, 1), make(chan error, 1)
	go func() { _, err := client.New(socket).Status(context.Background()); called <- err }()
	<-entered
	go func() { stopped <- stop() }()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Lstat(socket); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the socket stays")
		}
	}
	if _, err := client.New(socket).Status(t.Context()); !errors.Is(err, client.ErrNoServer) {
		t.Errorf("a request after the end: %v", err)
	}
	select {
	case err := <-stopped:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	close(release)
	if err := <-called; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestAbort ends a request that does not end by itself, and tells its caller why.
func TestAbort(t *testing.T) {
	f, entered, _ := blocking()
	socket, stop := begin(t, Handler(f, (&buffer{}).logger()), waits{10 * time.Millisecond, patience, patience})
	called := make(chan error, 1)
	go func() { _, err := client.New(socket).Status(context.Background()); called <- err }()
	ctx := <-entered
	if err := stop(); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if !errors.Is(context.Cause(ctx), errEnding) {
		t.Errorf("the request's context: %v", context.Cause(ctx))
	}
	var refused *client.Error
	if err := <-called; !errors.As(err, &refused) || refused.Code != client.CodeUnavailable || !strings.Contains(refused.Message, "ending") {
		t.Errorf("the caller got %v", err)
	}
}

// TestStubborn does not wait for ever for a request that heeds nothing.
func TestStubborn(t *testing.T) {
	f, entered, release := full(), make(chan struct{}), make(chan struct{})
	f.during = func(context.Context) error { close(entered); <-release; return nil }
	socket, stop := begin(t, Handler(f, (&buffer{}).logger()), waits{10 * time.Millisecond, 10 * time.Millisecond, patience})
	called := make(chan error, 1)
	go func() { _, err := client.New(socket).Status(context.Background()); called <- err }()
	<-entered
	if err := stop(); err == nil || !strings.Contains(err.Error(), "still run") {
		t.Errorf("Serve: %v", err)
	}
	if err := <-called; err == nil {
		t.Error("the caller got an answer")
	}
	close(release)
}

// TestServeFails says that its listener broke.
func TestServeFails(t *testing.T) {
	l, err := Listen(tempSocket(t))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := Serve(t.Context(), l, http.NotFoundHandler(), (&buffer{}).logger()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v", err)
	}
}

// TestSilentConnection must not keep Serve from ending.
func TestSilentConnection(t *testing.T) {
	socket, stop := begin(t, Handler(full(), (&buffer{}).logger()), waits{10 * time.Millisecond, patience, patience})
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := stop(); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(socket)); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestSlowBody gives up on a body that does not come, and, as a control, lets a
// request take longer than a body may.
func TestSlowBody(t *testing.T) {
	const read = time.Second
	f := full()
	f.during = func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * read):
			return nil
		}
	}
	socket, stop := begin(t, Handler(f, (&buffer{}).logger()), waits{patience, patience, read})
	c := httpClient(t, socket)
	never, w := io.Pipe()
	defer w.Close()
	resp := post(t, c, "/v1/branch", never)
	if resp.status != 400 || !strings.Contains(resp.body, "did not arrive") {
		t.Errorf("slow body: %d %s", resp.status, resp.body)
	}
	if resp := post(t, c, "/v1/branch", strings.NewReader(`{"name":"a"}`)); resp.status != 201 {
		t.Errorf("slow call: %d %s", resp.status, resp.body)
	}
	if resp := post(t, c, "/v1/marks/a/rewind", nil); resp.status != 200 {
		t.Errorf("slow call without a body: %d %s", resp.status, resp.body)
	}
	if err := stop(); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

type answer struct {
	status int
	body   string
}

func post(t *testing.T, c *http.Client, path string, body io.Reader) answer {
	t.Helper()
	resp, err := c.Post("http://ramaria"+path, jsonType, body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, string(b)}
}
