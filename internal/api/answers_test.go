package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// op is a request that makes sense.
type op struct{ method, path, body string }

func (o op) ask(h http.Handler) exchange {
	contentType := ""
	if o.body != "" {
		contentType = jsonType
	}
	return ask(h, o.method, o.path, contentType, o.body)
}

// ops has each call of the API, by its operationId.
var ops = map[string]op{
	"getStatus":      {"GET", "/v1/status", ""},
	"createBranch":   {"POST", "/v1/branch", `{"name":"shop-2"}`},
	"listMarks":      {"GET", "/v1/marks", ""},
	"createMark":     {"POST", "/v1/marks", `{"label":"a","replace":true}`},
	"deleteMark":     {"DELETE", "/v1/marks/a", ""},
	"rewindToMark":   {"POST", "/v1/marks/a/rewind", ""},
	"addReplica":     {"POST", "/v1/replicas", `{"name":"copy"}`},
	"promoteReplica": {"POST", "/v1/promote", `{}`},
	"moveInstance":   {"POST", "/v1/move", `{"volume":"disk"}`},
	"listBackups":    {"GET", "/v1/backups", ""},
	"createBackup":   {"POST", "/v1/backups", ""},
	"verifyBackups":  {"POST", "/v1/backups/verify", ""},
	"pruneBackups":   {"POST", "/v1/backups/prune", ""},
	"getDocument":    {"GET", "/v1/openapi.yaml", ""},

	"listTemplates":    {"GET", "/v1/templates", ""},
	"putTemplate":      {"PUT", "/v1/templates/shop", ""},
	"deleteTemplate":   {"DELETE", "/v1/templates/shop", ""},
	"listDatabases":    {"GET", "/v1/databases", ""},
	"createDatabase":   {"POST", "/v1/databases", `{"template":"shop","name":"shop_1","ttl_s":0.5,"wait_s":1}`},
	"resetDatabase":    {"POST", "/v1/databases/shop_1/reset", ""},
	"setSavepoint":     {"POST", "/v1/databases/shop_1/savepoint", ""},
	"rollbackDatabase": {"POST", "/v1/databases/shop_1/rollback", ""},
	"dropDatabase":     {"DELETE", "/v1/databases/shop_1", ""},
	"getDatabase":      {"GET", "/v1/databases/shop_1", ""},
	"keepDatabase":     {"POST", "/v1/databases/shop_1/keep", ""},
	"createTemplate":   {"POST", "/v1/templates", `{"name":"shop","key":"k","wait_s":0.5,"build_s":600}`},
	"getLimits":        {"GET", "/v1/pool", ""},
	"setLimits":        {"PUT", "/v1/pool", `{"max_databases":64,"spare":0}`},
	"getMetrics":       {"GET", "/metrics", ""},
}

// errorCases are what an Instance may return.
var errorCases = map[string]struct {
	err    error
	status int
	want   client.ErrorDetail
}{
	"not found": {
		fmt.Errorf("rewind to %q: %w\nhint: ramaria status", "a", ErrNotFound), 404,
		client.ErrorDetail{Code: "not_found", Message: `rewind to "a": not found`, Hint: "ramaria status"},
	},
	"exists":      {ErrExists, 409, client.ErrorDetail{Code: "exists", Message: "already exists"}},
	"changed":     {fmt.Errorf("reset: %w", ErrChanged), 409, client.ErrorDetail{Code: "changed", Message: "reset: it was changed"}},
	"lost":        {As(ErrLost, errors.New("gone")), 409, client.ErrorDetail{Code: "lost", Message: "gone"}},
	"durable":     {As(ErrDurable, errors.New("it is")), 409, client.ErrorDetail{Code: "durable", Message: "it is"}},
	"no log":      {As(ErrNoLog, errors.New("off")), 409, client.ErrorDetail{Code: "no_log", Message: "off"}},
	"invalid":     {As(ErrInvalid, errors.New("no\nhint: yes\nor so")), 400, client.ErrorDetail{Code: "invalid", Message: "no", Hint: "yes\nor so"}},
	"no room":     {As(ErrNoRoom, errors.New("full")), 507, client.ErrorDetail{Code: "no_room", Message: "full"}},
	"busy":        {fmt.Errorf("mark: %w", ErrBusy), 409, client.ErrorDetail{Code: "busy", Message: "mark: the instance is busy"}},
	"full":        {fmt.Errorf("lease: %w", ErrFull), 503, client.ErrorDetail{Code: "full", Message: "lease: the pool is full"}},
	"unavailable": {ErrUnavailable, 503, client.ErrorDetail{Code: "unavailable", Message: "the server does not run"}},
	"internal":    {errors.New("disk on fire"), 500, client.ErrorDetail{Code: "internal", Message: "disk on fire"}},
	"no text":     {errors.New(""), 500, client.ErrorDetail{Code: "internal", Message: "internal error"}},
	"joined":      {errors.Join(errors.New("first"), ErrBusy), 409, client.ErrorDetail{Code: "busy", Message: "first\nthe instance is busy"}},
}

// TestSuccesses holds every success against the contract, with all fields and with none.
func TestSuccesses(t *testing.T) {
	c := loadContract(t)
	empty := full()
	empty.status.Warnings, empty.status.Marks, empty.status.Reason, empty.marks = nil, nil, "", nil
	empty.templates, empty.databases, empty.reset.Warnings, empty.reset.Why = nil, nil, nil, ""
	empty.claim = client.TemplateClaim{State: client.StateReady, Template: client.Template{Name: "shop"}}
	empty.limits, empty.metrics = client.Limits{MaxDatabases: 1}, ""
	lacking := []string{"createMark", "putTemplate", "createDatabase", "getDatabase", "keepDatabase"} // the empty fake has none to answer with
	for name, f := range map[string]*fake{"full": full(), "empty": empty} {
		h := Handler(f, (&buffer{}).logger())
		for id, o := range ops {
			if f == empty && slices.Contains(lacking, id) {
				continue
			}
			t.Run(name+"/"+id, func(t *testing.T) {
				x := o.ask(h)
				if err := c.checkRequest(x); err != nil {
					t.Fatalf("the test's own request: %v", err)
				}
				if x.status < 200 || x.status > 299 {
					t.Errorf("status %d: %s", x.status, x.body)
				}
				if err := c.check(x); err != nil {
					t.Errorf("%d %s: %v", x.status, x.body, err)
				}
			})
		}
	}
}

// TestErrors holds every error of every call against the contract. Which call may
// answer with what is the document's to say; what it does not say must be caught.
func TestErrors(t *testing.T) {
	c := loadContract(t)
	for id, o := range ops {
		if id == "getDocument" {
			continue // asks no Instance
		}
		for name, e := range errorCases {
			t.Run(id+"/"+name, func(t *testing.T) {
				var log buffer
				x := o.ask(Handler(failing(e.err), log.logger()))
				if x.status != e.status {
					t.Errorf("status %d, want %d", x.status, e.status)
				}
				var body client.ErrorBody
				if err := json.Unmarshal(x.body, &body); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(e.want, body.Error); d != "" {
					t.Errorf("error (-want +got):\n%s", d)
				}
				if err := c.fits("Error", x.body); err != nil {
					t.Errorf("%s: %v", x.body, err)
				}
				if logged := log.String() != ""; logged != (e.status == 500) {
					t.Errorf("the log has %q", log.String())
				}
				route, _, err := c.router.FindRoute(x.request)
				if err != nil {
					t.Fatal(err)
				}
				documented := route.Operation.Responses.Status(e.status) != nil
				if err := c.check(x); (err == nil) != documented {
					t.Errorf("documented: %v, and the contract says: %v", documented, err)
				}
			})
		}
	}
}

// TestErrorsAreDocumented names the errors that calls must be free to answer with.
func TestErrorsAreDocumented(t *testing.T) {
	c := loadContract(t)
	want := map[string][]int{
		"getStatus": {400, 409, 500, 503}, "listMarks": {400, 500, 503}, "getDocument": {400, 500},
		"createBranch": {400, 409, 413, 415, 500, 503, 507}, "createMark": {400, 409, 413, 415, 500, 503, 507},
		"listBackups": {400, 409, 500, 503}, "createBackup": {400, 409, 500, 503, 507}, "verifyBackups": {400, 409, 500, 503, 507}, "pruneBackups": {400, 409, 500, 503},
		"deleteMark": {400, 404, 409, 500, 503}, "rewindToMark": {400, 404, 409, 500, 503, 507}, "moveInstance": {400, 409, 413, 415, 500, 503, 507}, "promoteReplica": {400, 409, 413, 415, 500, 503}, "addReplica": {400, 409, 413, 415, 500, 503, 507},
		"listTemplates": {400, 409, 500, 503}, "listDatabases": {400, 409, 500, 503},
		"putTemplate": {400, 404, 409, 500, 503}, "deleteTemplate": {400, 404, 409, 500, 503},
		"createDatabase": {400, 404, 409, 413, 415, 500, 503, 507},
		"setSavepoint":   {400, 404, 409, 500, 503}, "rollbackDatabase": {400, 404, 409, 500, 503, 507},
		"resetDatabase": {400, 404, 409, 500, 503, 507}, "dropDatabase": {400, 404, 409, 500, 503},
		"getDatabase": {400, 404, 409, 500, 503}, "keepDatabase": {400, 404, 409, 500, 503},
		"createTemplate": {400, 409, 413, 415, 500, 503},
		"getLimits":      {400, 409, 500, 503}, "setLimits": {400, 409, 413, 415, 500, 503}, "getMetrics": {400, 500, 503},
	}
	for _, item := range c.doc.Paths.Map() {
		for _, o := range item.Operations() {
			var got []int
			for _, status := range sorted(o.Responses.Keys()) {
				if n, err := strconv.Atoi(status); err == nil && n >= 400 {
					got = append(got, n)
				}
			}
			if d := cmp.Diff(want[o.OperationID], got); d != "" {
				t.Errorf("%s (-want +documented):\n%s", o.OperationID, d)
			}
		}
	}
}

// TestNoRoom passes the volume's own error on.
func TestNoRoom(t *testing.T) {
	room := &volume.NoRoomError{}
	x := ops["createBranch"].ask(Handler(failing(fmt.Errorf("branch: %w", room)), (&buffer{}).logger()))
	if x.status != 507 || !strings.Contains(string(x.body), client.CodeNoRoom) {
		t.Errorf("%d %s", x.status, x.body)
	}
}

// TestPanic answers, and logs where it happened, and serves the next request.
func TestPanic(t *testing.T) {
	c := loadContract(t)
	var log buffer
	f := full()
	f.during = func(context.Context) error { panic("boo") }
	h := Handler(f, log.logger())
	for range 2 {
		x := ops["getStatus"].ask(h)
		if x.status != 500 || !strings.Contains(string(x.body), "it panicked") {
			t.Errorf("%d %s", x.status, x.body)
		}
		if err := c.check(x); err != nil {
			t.Error(err)
		}
	}
	for _, want := range []string{"panic=boo", "fake_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q: %s", want, log.String())
		}
	}
}

// TestUnwritable answers with an error where JSON cannot say what the Instance does.
func TestUnwritable(t *testing.T) {
	f := full()
	f.status.ReadySeconds = math.NaN()
	x := ops["getStatus"].ask(Handler(f, (&buffer{}).logger()))
	if err := loadContract(t).check(x); err != nil || x.status != 500 {
		t.Errorf("%d %s: %v", x.status, x.body, err)
	}
}

// TestContractCatches shows that wrong answers are caught.
func TestContractCatches(t *testing.T) {
	c := loadContract(t)
	change := func(id string, f func(*exchange)) exchange {
		x := ops[id].ask(Handler(full(), (&buffer{}).logger()))
		f(&x)
		return x
	}
	replace := func(old, with string) func(*exchange) {
		return func(x *exchange) {
			if !strings.Contains(string(x.body), old) {
				t.Fatalf("no %s in %s", old, x.body)
			}
			x.body = []byte(strings.Replace(string(x.body), old, with, 1))
		}
	}
	for name, x := range map[string]exchange{
		"null for a list":     change("getStatus", replace(`"warnings":["the volume is 93 % full"]`, `"warnings":null`)),
		"field missing":       change("getStatus", replace(`"reflink":true`, `"bound":"x"`)),
		"field unknown":       change("getStatus", replace(`"reason"`, `"why"`)),
		"field unknown below": change("listMarks", replace(`"live_micros"`, `"rinse_micros"`)),
		"other type":          change("createBranch", replace(`"port":41233`, `"port":"41233"`)),
		"not an integer":      change("rewindToMark", replace(`"micros":16`, `"micros":1.5`)),
		"negative":            change("rewindToMark", replace(`"micros":16`, `"micros":-1`)),
		"unknown phase":       change("getStatus", replace(`"running"`, `"jogging"`)),
		"not a time":          change("listMarks", replace(`"2026-11-21T`, `"2026-13-21 `)),
		"not a name":          change("createBranch", replace(`"shop-2"`, `"Shop 2"`)),
		"unknown way":         change("resetDatabase", replace(`"refill"`, `"magic"`)),
		"null for warnings":   change("resetDatabase", replace(`["a sequence is not as it was"]`, `null`)),
		"slash in a database": change("putTemplate", replace(`"shop"`, `"sh/op"`)),
		"unknown state":       change("createTemplate", replace(`"build"`, `"begun"`)),
		"no state":            change("createTemplate", replace(`"state":"build",`, ``)),
		"other flag":          change("getDatabase", replace(`"kept":true`, `"kept":"yes"`)),
		"no databases at all": change("getLimits", replace(`64`, `0`)),
		"metrics as JSON":     change("getMetrics", func(x *exchange) { x.header.Set("Content-Type", jsonType) }),
		"not JSON":            change("getStatus", func(x *exchange) { x.body = []byte("fine") }),
		"other media type":    change("getStatus", func(x *exchange) { x.header.Set("Content-Type", "text/plain") }),
		"undocumented status": change("getStatus", func(x *exchange) { x.status = 202 }),
		"body of 204":         change("deleteMark", func(x *exchange) { x.body = []byte("{}") }),
		"error without code":  {request: change("getStatus", func(*exchange) {}).request, status: 500, header: http.Header{"Content-Type": {jsonType}}, body: []byte(`{"error":{"message":"m"}}`)},
	} {
		if err := c.check(x); err == nil {
			t.Errorf("%s: not caught: %d %s", name, x.status, x.body)
		}
	}
}
