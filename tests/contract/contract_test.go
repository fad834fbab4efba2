// Package contract tests a running instance against the document of its API with
// Schemathesis, which makes up requests, good and bad ones, from the document alone.
package contract

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/api"
)

// TestServerKeepsDocument tests every call, the expensive ones a few times only:
// hooks.py says which.
func TestServerKeepsDocument(t *testing.T) {
	schemathesis(t) // nothing need be started without it
	c := instance(t)
	saved := promoteOne(t, c)
	// The names in the document's examples, and in schemathesis.toml.
	if _, err := c.PutTemplate(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Mark(t.Context(), client.MarkRequest{Label: "before-migration"}); err != nil {
		t.Fatal(err)
	}
	saved = append(saved, saveOne(t, c)...)
	sent, out, err := run(t, forward(t, c.Socket()))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%d requests", len(sent))
	checkReach(t, append(sent, saved...))
}

// promoteOne makes a replica, and promotes it: an instance with templates has none.
func promoteOne(t *testing.T, c *client.Client) []request {
	t.Helper()
	b, err := c.AddReplica(t.Context(), client.ReplicaRequest{Name: "copy", Volume: "shm"})
	if err != nil {
		t.Fatal(err)
	}
	replica := client.New(b.API)
	defer replica.Close()
	if _, err := replica.Promote(t.Context(), client.PromoteRequest{}); err != nil {
		t.Fatal(err)
	}
	return []request{{method: "POST", path: "/v1/replicas", status: 201}, {method: "POST", path: "/v1/promote", status: 200}}
}

// saveOne sets a savepoint in a database and rolls it back: of those
// that are made at random each was kept, or its server restarted, before a savepoint is set, which is
// to be refused.
func saveOne(t *testing.T, c *client.Client) []request {
	t.Helper()
	d, err := c.NewDatabase(t.Context(), client.DatabaseRequest{Template: "shop", Name: "marked"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetSavepoint(t.Context(), d.Name); err != nil {
		t.Fatal(err)
	}
	if r, err := c.RollbackDatabase(t.Context(), d.Name, client.RestoreCounters); err != nil || r.Way != "noop" {
		t.Fatalf("roll back: %+v, %v", r, err)
	}
	list := []request{{method: "POST", path: "/v1/databases/marked/savepoint", status: 204}, {method: "POST", path: "/v1/databases/marked/rollback", status: 200}}
	if err := c.DropDatabase(t.Context(), d.Name); err != nil {
		t.Fatal(err)
	}
	return list
}

// durableOnly begins the paths of calls that succeed on durable instances alone. This instance is none,
// since it has templates; internal/api holds their answers against the document.
const durableOnly = "/v1/backups"

// checkReach fails where a call was never made so that it succeeded, or never so that it
// had to be refused: the document would say little about it then.
func checkReach(t *testing.T, sent []request) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.Document())
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			var good, bad int
			for _, r := range sent {
				switch {
				case r.method != method || !fits(path, r.path):
				case r.status < 300:
					good++
				default:
					bad++
				}
			}
			refusable := op.RequestBody != nil || strings.Contains(path, "{")
			if strings.HasPrefix(path, durableOnly) {
				if bad == 0 {
					t.Errorf("%s was never refused", op.OperationID)
				}
				continue
			}
			if good == 0 || refusable && bad == 0 {
				t.Errorf("%s was made %d times with success, and refused %d times", op.OperationID, good, bad)
			}
		}
	}
}

// fits reports whether a path is one of a template like /v1/marks/{label}.
func fits(template, path string) bool {
	return slices.EqualFunc(strings.Split(template, "/"), strings.Split(path, "/"), func(want, got string) bool {
		return want == got || strings.HasPrefix(want, "{")
	})
}

// TestFaultsAreFound shows that a server which does not keep the document is caught.
func TestFaultsAreFound(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	for name, tc := range map[string]struct {
		h    http.HandlerFunc
		call string
		want string
	}{
		"schema":         {answer(200, `{"max_databases":"64","spare":2}`), "getLimits", "Response violates schema"},
		"status":         {answer(202, `{"max_databases":64,"spare":2}`), "getLimits", "Undocumented status code"},
		"server error":   {answer(500, `{"error":{"code":"internal","message":"m"}}`), "getLimits", "Server error"},
		"takes anything": {answer(200, `{"max_databases":64,"spare":2}`), "setLimits", "Schema-violating request accepted"},
		"takes nothing":  {answer(400, `{"error":{"code":"invalid","message":"m"}}`), "setLimits", "Schema-valid request rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(tc.h)
			defer s.Close()
			_, out, err := run(t, s.URL, "--include-operation-id", tc.call, "--phases", "coverage", "--no-shrink")
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(out, tc.want) {
				t.Errorf("%v, and no %q in:\n%s", err, tc.want, out)
			}
		})
	}
}
