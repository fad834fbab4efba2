package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/client"
)

// TestRefusals sends what makes no sense. None of it reaches the Instance.
func TestRefusals(t *testing.T) {
	const branch, marks, ct = "/v1/branch", "/v1/marks", jsonType
	const templates, databases = "/v1/templates", "/v1/databases"
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
		"wrong type":             {"POST", branch, ct, `{"name":7}`, 400, "invalid", `field "name" cannot be a number`},
		"wrong type of flag":     {"POST", marks, ct, `{"label":"a","replace":"yes"}`, 400, "invalid", `field "replace" cannot be a string`},
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
		"body of a get":          {"GET", "/v1/status", ct, `{}`, 400, "invalid", "takes no body"},
		"post of a template":     {"POST", templates + "/a", "", "", 405, "bad_method", "no such method"},
		"get of a database":      {"GET", databases + "/a", "", "", 405, "bad_method", "no such method"},
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
		"infinite ttl":           {"POST", databases, ct, `{"template":"a","ttl_s":1e999}`, 400, "invalid", `field "ttl_s" cannot be a number 1e999`},
		"ttl not a number":       {"POST", databases, ct, `{"template":"a","ttl_s":"NaN"}`, 400, "invalid", `field "ttl_s" cannot be a string`},
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

// TestAllow names all methods of a path.
func TestAllow(t *testing.T) {
	h := Handler(full(), (&buffer{}).logger())
	for path, want := range map[string]string{
		"/v1/status": "GET, HEAD", "/v1/branch": "POST", "/v1/marks": "GET, HEAD, POST", "/v1/marks/a": "DELETE", "/v1/marks/a/rewind": "POST",
		"/v1/templates": "GET, HEAD", "/v1/templates/a": "DELETE, PUT",
		"/v1/databases": "GET, HEAD, POST", "/v1/databases/a": "DELETE", "/v1/databases/a/reset": "POST",
	} {
		if got := ask(h, "PATCH", path, "", "").header.Get("Allow"); got != want {
			t.Errorf("%s: Allow: %s, want %s", path, got, want)
		}
	}
}

// TestAccepted sends what is unusual and makes sense.
func TestAccepted(t *testing.T) {
	f := full()
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
	} {
		if x.status > 299 {
			t.Errorf("%s %s: %d %s", x.request.Method, x.request.URL, x.status, x.body)
		}
	}
	want := []any{client.BranchRequest{Name: "a"}, client.MarkRequest{Label: "b"}, "rewind c", "status",
		"template a `é%2f.", client.DatabaseRequest{Template: "é"}, client.DatabaseRequest{Template: "é", TTLSeconds: 31536000}, "drop a-b"}
	if d := cmp.Diff(want, f.requests()); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
}

// TestDocumentServed compares what is served with the file.
func TestDocumentServed(t *testing.T) {
	x := ops["getDocument"].ask(Handler(full(), (&buffer{}).logger()))
	if x.header.Get("Content-Type") != "application/yaml" || string(x.body) != string(Document()) {
		t.Errorf("%s, %d bytes", x.header.Get("Content-Type"), len(x.body))
	}
}
