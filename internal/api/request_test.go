package api

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/client"
)

// TestRefusals sends invalid requests. None of them reaches the Instance.
func TestRefusals(t *testing.T) {
	const branch, marks, ct = "/v1/branch", "/v1/marks", jsonType
	const templates, databases, pool = "/v1/templates", "/v1/databases", "/v1/pool"
	long, wide := strings.Repeat("x", MaxKey+1), strings.Repeat("é", MaxKey/2+1)
	big := `{"name":"` + strings.Repeat("x", MaxBody) + `"}`
	for name, tc := range map[string]struct {
		method, path, contentType, body string
		status                          int
		code, message                   string
	}{
		"unknown path":           {"GET", "/v1/nothing", "", "", 404, "not_found", "no such path"},
		"root":                   {"GET", "/", "", "", 404, "not_found", "no such path"},
		"final slash":            {"GET", "/v1/status/", "", "", 404, "not_found", "no such path"},
		"double slash":           {"GET", "//v1/status", "", "", 404, "not_found", "no such path"},
		"dots":                   {"GET", "/v1/x/../status", "", "", 404, "not_found", "no such path"},
		"empty label":            {"POST", "/v1/marks//rewind", "", "", 404, "not_found", "no such path"},
		"label is dots":          {"POST", "/v1/marks/%2e%2e/rewind", "", "", 404, "not_found", "no such path"},
		"wrong method":           {"PUT", "/v1/status", "", "", 405, "bad_method", "no such method"},
		"method of another path": {"DELETE", marks, "", "", 405, "bad_method", "no such method"},
		"get of a rewind":        {"GET", "/v1/marks/a/rewind", "", "", 405, "bad_method", "no such method"},
		"no content type":        {"POST", branch, "", `{"name":"a"}`, 415, "bad_type", `Content-Type is ""`},
		"form":                   {"POST", branch, "application/x-www-form-urlencoded", "name=a", 415, "bad_type", "x-www-form-urlencoded"},
		"broken content type":    {"POST", branch, "application/json;;=", `{"name":"a"}`, 415, "bad_type", "Content-Type"},
		"too large":              {"POST", branch, ct, big, 413, "too_large", "more than 65536 bytes"},
		"too large for no body":  {"POST", "/v1/marks/a/rewind", ct, big, 400, "invalid", "takes no body"},
		"no body":                {"POST", branch, ct, "", 400, "invalid", "it has no body"},
		"neither body nor type":  {"POST", branch, "", "", 400, "invalid", "it has no body"},
		"cut short":              {"POST", branch, ct, `{"name":"a"`, 400, "invalid", "ends too early"},
		"not JSON":               {"POST", branch, ct, `name=a`, 400, "invalid", "invalid character"},
		"unknown field":          {"POST", branch, ct, `{"name":"a","colour":"b"}`, 400, "invalid", `unknown field "colour"`},
		"wrong type":             {"POST", branch, ct, `{"name":7}`, 400, "invalid", `field "name" cannot be a JSON number`},
		"wrong type of flag":     {"POST", marks, ct, `{"label":"a","replace":"yes"}`, 400, "invalid", `field "replace" cannot be a JSON string`},
		"array":                  {"POST", branch, ct, `["a"]`, 400, "invalid", "a JSON array, not an object"},
		"null":                   {"POST", branch, ct, `null`, 400, "invalid", "name is missing"},
		"second value":           {"POST", branch, ct, `{"name":"a"}{}`, 400, "invalid", "something follows"},
		"garbage behind":         {"POST", branch, ct, `{"name":"a"} x`, 400, "invalid", "something follows"},
		"bracket behind":         {"POST", branch, ct, `{"name":"a"}}`, 400, "invalid", "something follows"},
		"no name":                {"POST", branch, ct, `{}`, 400, "invalid", "name is missing"},
		"no label":               {"POST", marks, ct, `{"replace":true}`, 400, "invalid", "label is missing"},
		"bad name":               {"POST", branch, ct, `{"name":"../x"}`, 400, "invalid", `use name "../x"`},
		"bad label":              {"POST", marks, ct, `{"label":"A"}`, 400, "invalid", `use label "A"`},
		"bad label in a path":    {"DELETE", "/v1/marks/a%2fb", "", "", 400, "invalid", `use label "a/b"`},
		"bad label to rewind to": {"POST", "/v1/marks/a%20b/rewind", "", "", 400, "invalid", `use label "a b"`},
		"body where none is":     {"POST", "/v1/marks/a/rewind", ct, `{}`, 400, "invalid", "takes no body"},
		"no such expectation":    {"GET", "/v1/status?sever=mysql", "", "", 400, "invalid", `use "sever" in the URL`},
		"other counters":         {"POST", databases + "/a/reset?counters=lose", "", "", 400, "invalid", `use counters "lose"`},
		"no counters":            {"POST", databases + "/a/rollback?counters=", "", "", 400, "invalid", `use counters ""`},
		"misspelt counters":      {"POST", databases + "/a/reset?counter=keep", "", "", 400, "invalid", `use "counter" in the URL`},
		"no query at all":        {"POST", databases + "/a/rollback?counters=keep;x", "", "", 400, "invalid", "read query"},
		"two counters":           {"POST", databases + "/a/reset?counters=keep&counters=restore", "", "", 400, "invalid", `use counters "keep,restore"`},
		"body of a get":          {"GET", "/v1/status", ct, `{}`, 400, "invalid", "takes no body"},
		"post of a template":     {"POST", templates + "/a", "", "", 405, "bad_method", "no such method"},
		"put of a database":      {"PUT", databases + "/a", "", "", 405, "bad_method", "no such method"},
		"get of a keep":          {"GET", databases + "/a/keep", "", "", 405, "bad_method", "no such method"},
		"post of the pool":       {"POST", pool, ct, `{}`, 405, "bad_method", "no such method"},
		"post of metrics":        {"POST", "/metrics", "", "", 405, "bad_method", "no such method"},
		"metrics of a version":   {"GET", "/v1/metrics", "", "", 404, "not_found", "no such path"},
		"empty template":         {"PUT", templates + "/", "", "", 404, "not_found", "no such path"},
		"empty database":         {"POST", databases + "//reset", "", "", 404, "not_found", "no such path"},
		"template is dots":       {"PUT", templates + "/%2e%2e", "", "", 404, "not_found", "no such path"},
		"slash in a template":    {"PUT", templates + "/a%2fb", "", "", 400, "invalid", `use template "a/b"`},
		"NUL in a template":      {"DELETE", templates + "/a%00", "", "", 400, "invalid", `use template "a\x00"`},
		"template not UTF-8":     {"PUT", templates + "/%ff", "", "", 400, "invalid", `use template "\xff"`},
		"long database":          {"DELETE", databases + "/" + strings.Repeat("x", 65), "", "", 400, "invalid", "1 to 64 characters"},
		"slash in a database":    {"POST", databases + "/a%2fb/reset", "", "", 400, "invalid", `use database "a/b"`},
		"body of a put":          {"PUT", templates + "/a", ct, `{}`, 400, "invalid", "takes no body"},
		"body of a reset":        {"POST", databases + "/a/reset", ct, `{}`, 400, "invalid", "takes no body"},
		"no template":            {"POST", databases, ct, `{"name":"a"}`, 400, "invalid", "template is missing"},
		"bad template":           {"POST", databases, ct, `{"template":"a/b"}`, 400, "invalid", `use template "a/b"`},
		"bad new name":           {"POST", databases, ct, `{"template":"a","name":"a-b"}`, 400, "invalid", `use name "a-b"`},
		"new name and newline":   {"POST", databases, ct, `{"template":"a","name":"a\n"}`, 400, "invalid", `use name "a\n"`},
		"long new name":          {"POST", databases, ct, `{"template":"a","name":"` + strings.Repeat("x", 65) + `"}`, 400, "invalid", "use name"},
		"negative ttl":           {"POST", databases, ct, `{"template":"a","ttl_s":-0.1}`, 400, "invalid", "use ttl_s -0.1"},
		"ttl of over a year":     {"POST", databases, ct, `{"template":"a","ttl_s":31536001}`, 400, "invalid", "use ttl_s"},
		"infinite ttl":           {"POST", databases, ct, `{"template":"a","ttl_s":1e999}`, 400, "invalid", `field "ttl_s" cannot be a JSON number 1e999`},
		"negative wait":          {"POST", databases, ct, `{"template":"a","wait_s":-1}`, 400, "invalid", "use wait_s -1"},
		"wait of over an hour":   {"POST", databases, ct, `{"template":"a","wait_s":3601}`, 400, "invalid", "use wait_s 3601"},
		"null for a field":       {"POST", databases, ct, `{"template":"a","wait_s":null}`, 400, "invalid", `field "wait_s" cannot be null`},
		"null for a name":        {"POST", branch, ct, `{"name":null}`, 400, "invalid", `field "name" cannot be null`},
		"field in other letters": {"POST", branch, ct, `{"name":"a","Name":"b"}`, 400, "invalid", `unknown field "Name"`},
		"only in other letters":  {"POST", branch, ct, `{"NAME":"a"}`, 400, "invalid", "name is missing"},
		"slash in what to get":   {"GET", databases + "/a%2fb", "", "", 400, "invalid", `use database "a/b"`},
		"slash in what to keep":  {"POST", databases + "/a%2fb/keep", "", "", 400, "invalid", `use database "a/b"`},
		"long one to keep":       {"POST", databases + "/" + strings.Repeat("x", 65) + "/keep", "", "", 400, "invalid", "1 to 64 characters"},
		"body of a keep":         {"POST", databases + "/a/keep", ct, `{}`, 400, "invalid", "takes no body"},
		"body of metrics":        {"GET", "/metrics", ct, `{}`, 400, "invalid", "takes no body"},
		"no name of a template":  {"POST", templates, ct, `{"key":"k"}`, 400, "invalid", "name is missing"},
		"empty name of one":      {"POST", templates, ct, `{"name":"","key":"k"}`, 400, "invalid", `use name ""`},
		"bad name of a template": {"POST", templates, ct, `{"name":"a-b","key":"k"}`, 400, "invalid", `use name "a-b"`},
		"long name of one":       {"POST", templates, ct, `{"name":"` + strings.Repeat("x", 65) + `","key":"k"}`, 400, "invalid", "use name"},
		"no key":                 {"POST", templates, ct, `{"name":"a"}`, 400, "invalid", "key is missing"},
		"empty key":              {"POST", templates, ct, `{"name":"a","key":""}`, 400, "invalid", "a key of 0 bytes"},
		"key too long":           {"POST", templates, ct, `{"name":"a","key":"` + long + `"}`, 400, "invalid", "a key of 1025 bytes: it must have 1 to 1024"},
		"key too long in bytes":  {"POST", templates, ct, `{"name":"a","key":"` + wide + `"}`, 400, "invalid", "a key of 1026 bytes"},
		"key not a text":         {"POST", templates, ct, `{"name":"a","key":["b"]}`, 400, "invalid", `field "key" cannot be a JSON array`},
		"unknown field of one":   {"POST", templates, ct, `{"name":"a","key":"k","from":"x"}`, 400, "invalid", `unknown field "from"`},
		"negative build":         {"POST", templates, ct, `{"name":"a","key":"k","build_s":-0.5}`, 400, "invalid", "use build_s -0.5"},
		"build of over a year":   {"POST", templates, ct, `{"name":"a","key":"k","build_s":31536001}`, 400, "invalid", "use build_s"},
		"long wait for a build":  {"POST", templates, ct, `{"name":"a","key":"k","wait_s":3601}`, 400, "invalid", "use wait_s"},
		"template without type":  {"POST", templates, "", `{"name":"a","key":"k"}`, 415, "bad_type", `Content-Type is ""`},
		"template too large":     {"POST", templates, ct, big, 413, "too_large", "more than 65536 bytes"},
		"no limits":              {"PUT", pool, ct, `{}`, 400, "invalid", "max_databases is missing"},
		"no spare":               {"PUT", pool, ct, `{"max_databases":1}`, 400, "invalid", "spare is missing"},
		"no databases allowed":   {"PUT", pool, ct, `{"max_databases":0,"spare":0}`, 400, "invalid", "use max_databases 0"},
		"negative databases":     {"PUT", pool, ct, `{"max_databases":-1,"spare":0}`, 400, "invalid", "use max_databases -1"},
		"too many databases":     {"PUT", pool, ct, `{"max_databases":10001,"spare":0}`, 400, "invalid", "use max_databases 10001"},
		"negative spare":         {"PUT", pool, ct, `{"max_databases":1,"spare":-1}`, 400, "invalid", "spare -1"},
		"too many spare":         {"PUT", pool, ct, `{"max_databases":1,"spare":10001}`, 400, "invalid", "spare 10001"},
		"part of a database":     {"PUT", pool, ct, `{"max_databases":1.5,"spare":0}`, 400, "invalid", `field "max_databases" cannot be a JSON number 1.5`},
		"unknown limit":          {"PUT", pool, ct, `{"max_databases":1,"spare":0,"x":1}`, 400, "invalid", `unknown field "x"`},
		"ttl not a number":       {"POST", databases, ct, `{"template":"a","ttl_s":"NaN"}`, 400, "invalid", `field "ttl_s" cannot be a JSON string`},
	} {
		t.Run(name, func(t *testing.T) {
			f := full()
			c, h := loadContract(t), Handler(f, (&buffer{}).logger())
			x := ask(h, tc.method, tc.path, tc.contentType, tc.body)
			var got client.ErrorBody
			if err := json.Unmarshal(x.body, &got); err != nil {
				t.Fatalf("%s: %v", x.body, err)
			}
			if x.status != tc.status || got.Error.Code != tc.code || !strings.Contains(got.Error.Message, tc.message) {
				t.Errorf("%d %s %q, want %d %s ...%q...", x.status, got.Error.Code, got.Error.Message, tc.status, tc.code, tc.message)
			}
			if x.status == 405 && x.header.Get("Allow") == "" {
				t.Error("no Allow header")
			}
			if x.header.Get("Content-Type") != jsonType {
				t.Errorf("Content-Type %q", x.header.Get("Content-Type"))
			}
			if err := c.check(x); err != nil {
				t.Errorf("%d %s: %v", x.status, x.body, err)
			}
			if len(f.requests()) > 0 {
				t.Errorf("it reached the instance: %v", f.requests())
			}
		})
	}
}

// TestWanted: an instance that is asked for in the words of the variables that choose one
// answers only if it is the one.
func TestWanted(t *testing.T) {
	c, f := loadContract(t), full()
	f.status.Server.Path = t.TempDir() + "/mariadbd"
	if err := os.WriteFile(f.status.Server.Path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	h := Handler(f, (&buffer{}).logger())
	for query, want := range map[string]struct {
		status        int
		code, message string
	}{
		"instance=shop&server=mariadb":      {200, "", ""},
		"server=mariadb:10.11":              {200, "", ""},
		"server=mariadb:10":                 {200, "", ""},
		"server=" + f.status.Server.Path:    {200, "", ""},
		"instance=&server=":                 {200, "", ""},
		"instance=other":                    {409, "other", "use instance shop: it has another name, and other was asked for"},
		"server=mysql":                      {409, "other", "it runs mariadb 10.11.19, and mysql was asked for"},
		"server=mariadb:11.4&instance=shop": {409, "other", "mariadb:11.4 was asked for"},
		"server=/nowhere/mariadbd":          {409, "other", "/nowhere/mariadbd was asked for"},
		"server=oracle":                     {400, "invalid", "unknown server"},
	} {
		x := ask(h, "GET", "/v1/status?"+query, "", "")
		var got client.ErrorBody
		if err := json.Unmarshal(x.body, &got); err != nil {
			t.Fatalf("%s: %v", x.body, err)
		}
		if x.status != want.status || got.Error.Code != want.code || !strings.Contains(got.Error.Message, want.message) {
			t.Errorf("%s: %d %s %q, want %d %s ...%q...", query, x.status, got.Error.Code, got.Error.Message, want.status, want.code, want.message)
		}
		if err := c.check(x); err != nil {
			t.Errorf("%s: %d %s: %v", query, x.status, x.body, err)
		}
	}
}

// TestAllow names all methods of a path.
func TestAllow(t *testing.T) {
	h := Handler(full(), (&buffer{}).logger())
	for path, want := range map[string]string{
		"/v1/status": "GET, HEAD", "/v1/branch": "POST", "/v1/marks": "GET, HEAD, POST", "/v1/marks/a": "DELETE", "/v1/marks/a/rewind": "POST",
		"/v1/templates": "GET, HEAD, POST", "/v1/templates/a": "DELETE, PUT",
		"/v1/databases": "GET, HEAD, POST", "/v1/databases/a": "DELETE, GET, HEAD", "/v1/databases/a/reset": "POST", "/v1/databases/a/keep": "POST",
		"/v1/pool": "GET, HEAD, PUT", "/metrics": "GET, HEAD",
	} {
		if got := ask(h, "PATCH", path, "", "").header.Get("Allow"); got != want {
			t.Errorf("%s: Allow: %s, want %s", path, got, want)
		}
	}
}

// TestAccepted sends what is unusual and makes sense.
func TestAccepted(t *testing.T) {
	f := full()
	key := strings.Repeat("é", MaxKey/2)
	h := Handler(f, (&buffer{}).logger())
	for _, x := range []exchange{
		ask(h, "POST", "/v1/branch", "application/json; charset=utf-8", " {\"name\" : \"a\"}\r\n\t "),
		ask(h, "POST", "/v1/marks", "Application/JSON", `{"label":"b"}`),
		ask(h, "POST", "/v1/marks/c/rewind", jsonType, ""),
		ask(h, "HEAD", "/v1/status", "", ""),
		ask(h, "PUT", "/v1/templates/a%20%60%C3%A9%252f.", "", ""),
		ask(h, "POST", "/v1/databases", jsonType, `{"template":"é","ttl_s":0}`),
		ask(h, "POST", "/v1/databases", jsonType, `{"template":"é","name":"","ttl_s":31536000}`),
		ask(h, "DELETE", "/v1/databases/a-b", "", ""),
		ask(h, "GET", "/v1/databases/a%20b", "", ""),
		ask(h, "HEAD", "/v1/databases/a", "", ""),
		ask(h, "POST", "/v1/databases/%C3%A9./keep", jsonType, ""),
		ask(h, "POST", "/v1/databases", jsonType, `{"template":"é","wait_s":3600}`),
		ask(h, "POST", "/v1/templates", jsonType, `{"name":"A_9","key":"`+key+`","wait_s":0,"build_s":31536000}`),
		ask(h, "POST", "/v1/templates", jsonType, `{"name":"a","key":"\u0000\n/é"}`),
		ask(h, "PUT", "/v1/pool", jsonType, `{"spare":0,"max_databases":10000}`),
		ask(h, "HEAD", "/metrics", "", ""),
		ask(h, "POST", "/v1/databases/a/reset?counters=restore", "", ""),
		ask(h, "POST", "/v1/databases/a/rollback?counters=k%65ep", "", ""),
	} {
		if x.status > 299 {
			t.Errorf("%s %s: %d %s", x.request.Method, x.request.URL, x.status, x.body)
		}
	}
	want := []any{client.BranchRequest{Name: "a"}, client.MarkRequest{Label: "b"}, "rewind c", "status",
		"template a `é%2f.", client.DatabaseRequest{Template: "é"}, client.DatabaseRequest{Template: "é", TTLSeconds: 31536000}, "drop a-b",
		"get a b", "get a", "keep é.", client.DatabaseRequest{Template: "é", WaitSeconds: 3600},
		client.TemplateRequest{Name: "A_9", Key: key, BuildSeconds: 31536000}, client.TemplateRequest{Name: "a", Key: "\x00\n/é"},
		client.Limits{MaxDatabases: 10000}, "metrics", "reset a, restore counters", "rollback of a, keep counters"}
	if d := cmp.Diff(want, f.requests()); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
}

// TestMetricsServed gives the metrics as they are.
func TestMetricsServed(t *testing.T) {
	f := full()
	x := ops["getMetrics"].ask(Handler(f, (&buffer{}).logger()))
	if x.header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" || string(x.body) != f.metrics {
		t.Errorf("%s: %s", x.header.Get("Content-Type"), x.body)
	}
}

// TestDocumentServed compares what is served with the file.
func TestDocumentServed(t *testing.T) {
	x := ops["getDocument"].ask(Handler(full(), (&buffer{}).logger()))
	if x.header.Get("Content-Type") != "application/yaml" || string(x.body) != string(Document()) {
		t.Errorf("%s, %d bytes", x.header.Get("Content-Type"), len(x.body))
	}
}
