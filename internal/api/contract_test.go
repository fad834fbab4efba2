package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/pool"
)

// contract is openapi.yaml, made strict: a field that it does not name is a fault
// here, while clients must pass over it.
type contract struct {
	doc    *openapi3.T
	router routers.Router
}

func loadContract(t *testing.T) *contract {
	t.Helper()
	c, err := readContract()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// readContract does it once: that takes a third of a second with the race detector.
var readContract = sync.OnceValues(func() (*contract, error) {
	doc, err := openapi3.NewLoader().LoadFromData(Document())
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
		return nil, fmt.Errorf("openapi.yaml is not valid: %w", err)
	}
	for _, s := range doc.Components.Schemas {
		strict(s)
	}
	router, err := legacy.NewRouter(doc)
	return &contract{doc, router}, err
})

func strict(s *openapi3.SchemaRef) {
	if s.Value.Type.Is("object") {
		s.Value.AdditionalProperties.Has = new(bool)
	}
	for _, p := range s.Value.Properties {
		strict(p)
	}
}

// exchange is a request with its answer.
type exchange struct {
	request *http.Request
	sent    []byte
	status  int
	header  http.Header
	body    []byte
}

// ask lets h answer a request, without a network.
func ask(h http.Handler, method, path, contentType, body string) exchange {
	r := httptest.NewRequest(method, "http://ramaria"+path, strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return exchange{r, []byte(body), w.Code, w.Header(), w.Body.Bytes()}
}

// check returns what of an answer breaks the contract.
func (c *contract) check(x exchange) error {
	if x.status == http.StatusNoContent && len(x.body) > 0 {
		return fmt.Errorf("204 with a body: %s", x.body)
	}
	route, params, err := c.router.FindRoute(x.request)
	// The library takes a path with a final slash for the one without, and an empty label or name for one.
	empty := slices.Contains(slices.Collect(maps.Values(params)), "")
	if err != nil || strings.HasSuffix(x.request.URL.Path, "/") || empty {
		// Not in the document: a path or a method that does not exist.
		if x.status != http.StatusNotFound && x.status != http.StatusMethodNotAllowed {
			return fmt.Errorf("%s %s is not in the document, and was answered with %d", x.request.Method, x.request.URL.Path, x.status)
		}
		return c.fits("Error", x.body)
	}
	return openapi3filter.ValidateResponse(x.request.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: x.request, PathParams: params, Route: route},
		Status:                 x.status,
		Header:                 x.header,
		Body:                   io.NopCloser(bytes.NewReader(x.body)),
		Options:                &openapi3filter.Options{IncludeResponseStatus: true},
	})
}

// checkRequest returns what of a request breaks the contract.
func (c *contract) checkRequest(x exchange) error {
	route, params, err := c.router.FindRoute(x.request)
	if err != nil {
		return err
	}
	r := x.request.Clone(x.request.Context())
	r.Body = io.NopCloser(bytes.NewReader(x.sent))
	return openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route})
}

// fits returns what of a JSON text breaks a schema.
func (c *contract) fits(schema string, text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	s := c.doc.Components.Schemas[schema]
	if s == nil {
		return fmt.Errorf("no schema %s", schema)
	}
	return s.Value.VisitJSON(v, openapi3.VisitAsResponse())
}

// types are the types of package client with a schema, all of whose fields are set.
func types() map[string]any {
	f := full()
	return map[string]any{
		"Status": f.status, "Server": f.status.Server, "Endpoint": f.status.Endpoint, "Volume": f.status.Volume, "Room": *f.status.Room, "Swap": *f.status.Room.Swap, "Cgroup": *f.status.Room.Cgroup, "Contents": *f.status.Room.Contents, "Use": f.status.Room.Contents.Grown[0],
		"SnapshotEstimate": f.status.Snapshot, "Counters": f.status.Counters, "Leases": *f.status.Leases, "Traffic": *f.status.Traffic,
		"BranchRequest": client.BranchRequest{Name: "shop-2"}, "Branch": f.branch, "Snapshot": f.branch.Snapshot,
		"MarkRequest": client.MarkRequest{Label: "a", Replace: true}, "Mark": f.marks[0], "Rewind": f.rewind, "MoveRequest": client.MoveRequest{Volume: "disk"}, "Move": f.move, "Moving": client.Moving{Volume: "disk", CopiedBytes: 1, TotalBytes: 2},
		"Backup": f.backup, "Verification": f.verification, "Pruned": f.pruned, "Durable": *f.status.Durable, "Bucket": f.status.Durable.Buckets[0], "Fences": *f.status.Durable.Fences, "Fence": f.status.Durable.Fences.Waiting[0], "FenceCount": f.status.Durable.Fences.Kinds[0], "Replica": *f.status.Replica, "Membership": *f.status.Cluster, "Divergence": *f.status.Replica.Diverged, "PromoteRequest": client.PromoteRequest{AcceptDivergence: true}, "Promotion": f.promotion, "ReplicaRequest": client.ReplicaRequest{Name: "copy", Volume: "disk", Sync: true},
		"Template": f.templates[0], "Database": f.databases[0], "Reset": f.reset,
		"DatabaseRequest": client.DatabaseRequest{Template: "shop", Name: "shop_1", TTLSeconds: 0.5, WaitSeconds: 1},
		"TemplateRequest": client.TemplateRequest{Name: "shop", Key: "k", WaitSeconds: 0.5, BuildSeconds: 1},
		"TemplateClaim":   f.claim, "Limits": f.limits,
		"Error": client.ErrorBody{Error: client.ErrorDetail{Code: client.CodeBusy, Message: "m", Hint: "h"}},
	}
}

// TestTypes compares the types with the schemas, both ways: fields, which of them
// must be there, and what is in them.
func TestTypes(t *testing.T) {
	c := loadContract(t)
	for name, v := range types() {
		t.Run(name, func(t *testing.T) {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.fits(name, b); err != nil {
				t.Errorf("%s does not fit its schema: %v", b, err)
			}
			var all, required []string
			for f := range fields(reflect.TypeOf(v)) {
				tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
				all = append(all, tag)
				if !slices.Contains([]string{"omitempty", "omitzero"}, options) {
					required = append(required, tag)
				}
				if reflect.ValueOf(v).FieldByIndex(f.Index).IsZero() {
					t.Errorf("field %s is not set, so it is not tested", f.Name)
				}
			}
			s := c.doc.Components.Schemas[name].Value
			if d := cmp.Diff(slices.Sorted(maps.Keys(s.Properties)), sorted(all)); d != "" {
				t.Errorf("fields of the schema (-) and of the type (+):\n%s", d)
			}
			if d := cmp.Diff(sorted(s.Required), sorted(required)); d != "" {
				t.Errorf("required by the schema (-) and always in the type (+):\n%s", d)
			}
		})
	}
	for name, s := range c.doc.Components.Schemas {
		if _, ok := types()[name]; !ok && s.Value.Type.Is("object") {
			t.Errorf("schema %s is of no type", name)
		}
	}
}

func fields(t reflect.Type) func(func(reflect.StructField) bool) {
	return slices.Values(reflect.VisibleFields(t))
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// TestNames holds the document's rule of names against the one that the handler goes by.
func TestNames(t *testing.T) {
	c := loadContract(t)
	long := strings.Repeat("x", instance.MaxName)
	for _, name := range []string{"a", "0", "a-b_c9", "-a", "_a", "A", "a.b", "a b", "é", "a/b", "..", "", "a\n", long, long + "x"} {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		if schema, code := c.fits("Name", text), instance.CheckName(name); (schema == nil) != (code == nil) {
			t.Errorf("%q: the document says %v, the code %v", name, schema, code)
		}
	}
}

// TestDatabaseNames does the same for names of databases, and of new ones.
func TestDatabaseNames(t *testing.T) {
	c := loadContract(t)
	long, wide := strings.Repeat("x", dbconn.MaxName), strings.Repeat("é", dbconn.MaxName)
	for _, name := range []string{"a", "A_9", "a-b", "é", " ", ".", "`", "%2f", "a\n", "a/b", "/", "a\x00", "", long, long + "x", wide, wide + "é"} {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		if schema, code := c.fits("DatabaseName", text), checkDatabase("template", name); (schema == nil) != (code == nil) {
			t.Errorf("%q: the document says %v, the code %v", name, schema, code)
		}
		h := Handler(full(), (&buffer{}).logger())
		for what, x := range map[string]exchange{
			"database": ask(h, "POST", "/v1/databases", jsonType, `{"template":"a","name":`+string(text)+`}`),
			"template": ask(h, "POST", "/v1/templates", jsonType, `{"key":"k","name":`+string(text)+`}`),
		} {
			if document := c.checkRequest(x); (document == nil) != (x.status < 300) {
				t.Errorf("%q for a new %s: the document says %v, the code %d", name, what, document, x.status)
			}
		}
	}
	if err := checkDatabase("template", "\xff"); err == nil {
		t.Error("what is not UTF-8 passes for a name")
	}
}

// TestLimits holds the document's limits against those that the handler goes by.
func TestLimits(t *testing.T) {
	c := loadContract(t)
	h := Handler(full(), (&buffer{}).logger())
	for _, tc := range []struct {
		method, path, body string
		least, most        float64
	}{
		{"POST", "/v1/databases", `{"template":"a","ttl_s":%v}`, 0, MaxTTL.Seconds()},
		{"POST", "/v1/databases", `{"template":"a","wait_s":%v}`, 0, MaxWait.Seconds()},
		{"POST", "/v1/templates", `{"name":"a","key":"b","wait_s":%v}`, 0, MaxWait.Seconds()},
		{"POST", "/v1/templates", `{"name":"a","key":"b","build_s":%v}`, 0, MaxTTL.Seconds()},
		{"PUT", "/v1/pool", `{"max_databases":%v,"spare":0}`, 1, MaxDatabases},
		{"PUT", "/v1/pool", `{"max_databases":1,"spare":%v}`, 0, MaxDatabases},
	} {
		for value, good := range map[float64]bool{tc.least: true, tc.least - 1: false, tc.most: true, tc.most + 1: false} {
			x := ask(h, tc.method, tc.path, jsonType, fmt.Sprintf(tc.body, strconv.FormatFloat(value, 'f', -1, 64)))
			if document := c.checkRequest(x); (document == nil) != good || (x.status < 300) != good {
				t.Errorf("%s %s %s: the document says %v, the code %d", tc.method, tc.path, x.sent, document, x.status)
			}
		}
	}
	key := c.doc.Components.Schemas["TemplateRequest"].Value.Properties["key"].Value
	if *key.MaxLength != MaxKey || key.MinLength != 1 {
		t.Errorf("the longest key: the document says %d, the code %d", *key.MaxLength, MaxKey)
	}
}

// TestDefaults holds the document's defaults against those of the pool, in seconds.
func TestDefaults(t *testing.T) {
	c := loadContract(t)
	for _, tc := range []struct {
		schema, field string
		want          time.Duration
	}{
		{"DatabaseRequest", "ttl_s", pool.DefaultTTL},
		{"DatabaseRequest", "wait_s", pool.DefaultWait},
		{"TemplateRequest", "wait_s", pool.DefaultBuildWait},
		{"TemplateRequest", "build_s", pool.DefaultBuild},
	} {
		got := c.doc.Components.Schemas[tc.schema].Value.Properties[tc.field].Value.Default
		if got != tc.want.Seconds() {
			t.Errorf("%s of %s: the document says %v, the pool %v", tc.field, tc.schema, got, tc.want.Seconds())
		}
	}
}

// TestDocumentedCalls compares the routes with the document's operations.
func TestDocumentedCalls(t *testing.T) {
	c := loadContract(t)
	var documented, served []string
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			documented = append(documented, method+" "+path)
			if op.OperationID == "" || op.Summary == "" || len(op.Tags) != 1 {
				t.Errorf("%s %s lacks an operationId, a summary or a tag", method, path)
			}
		}
	}
	for _, r := range new(handler).routes() {
		served = append(served, r.method+" "+r.path)
	}
	if d := cmp.Diff(sorted(documented), sorted(served)); d != "" {
		t.Errorf("in the document (-), served (+):\n%s", d)
	}
}
