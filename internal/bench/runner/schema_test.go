package runner

import (
	"cmp"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	schemaFile        = "../../../docs/bench.schema.json"
	compareSchemaFile = "../../../docs/bench-compare.schema.json"
)

func compiled(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	s, err := c.Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestLinesFollowTheSchema(t *testing.T) {
	s := compiled(t, schemaFile)
	results := []Result{exampleResult(), basedResult()}
	const random = 50
	r := rand.New(rand.NewPCG(11, 12))
	for range random {
		results = append(results, randomResult(r))
	}
	for line := range strings.Lines(written(t, results...)) {
		line = strings.ReplaceAll(line, `"unit":"new"`, `"unit":"s"`) // of a later version
		if err := validate(t, s, line); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
	}
}

// TestComparisonFollowsItsSchema: and what does not is refused.
func TestComparisonFollowsItsSchema(t *testing.T) {
	s := compiled(t, compareSchemaFile)
	text, err := os.ReadFile("testdata/compare.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	for line := range strings.Lines(string(text)) {
		first = cmp.Or(first, line)
		if err := validate(t, s, line); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
	}
	for _, tc := range []struct{ name, old, with string }{
		{"a verdict that there is not", `"verdict":"worse"`, `"verdict":"bad"`},
		{"another version", `"schema":1`, `"schema":2`},
		{"no side", `"row":"stock on disk","a"`, `"row":"stock on disk","c"`},
		{"a chance above one", `"p":0.00001`, `"p":10000`},
		{"a median that is a text", `"median":1.0025`, `"median":"1.0025"`},
		{"a fact without a name", `{"name":"rows",`, `{`},
	} {
		bad := strings.Replace(first, tc.old, tc.with, 1)
		if bad == first {
			t.Errorf("%s: there is no %s in %s", tc.name, tc.old, first)
		}
		if validate(t, s, bad) == nil {
			t.Errorf("%s: it is taken", tc.name)
		}
	}
}

// A schema that takes everything would pass the test above.
func TestSchemaRefuses(t *testing.T) {
	s := compiled(t, schemaFile)
	good, _, _ := strings.Cut(written(t, exampleResult()), "\n")
	for _, tc := range []struct{ name, old, with string }{
		{"a unit that there is not", `"unit":"s"`, `"unit":"ms"`},
		{"another version", `"schema":1`, `"schema":2`},
		{"no scenario", `"scenario":"cycle",`, ``},
		{"a text for a number", `"median":1.06`, `"median":"1.06"`},
		{"no samples", `"samples":[1.02,1.1,0.98,1.31],`, ``},
		{"half a round", `"rounds":4`, `"rounds":4.5`},
		{"a point without a curve", `"rounds":4`, `"rounds":4,"x":1`},
		{"a setting that is no text", `"row":"no options"`, `"row":1`},
		{"a time that is none", `"time":"2026-11-22T06:00:00Z"`, `"time":"today"`},
		{"no kernel", `"kernel":"6.18.0",`, ``},
	} {
		bad := strings.Replace(good, tc.old, tc.with, 1)
		if bad == good {
			t.Errorf("%s: there is no %s in %s", tc.name, tc.old, good)
		}
		if validate(t, s, bad) == nil {
			t.Errorf("%s: it is taken", tc.name)
		}
	}
}

// fields are the names in JSON of a structure and of those in it, by the structure's type.
func fields(v any) map[string][]string {
	all := map[string][]string{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			all[typ.Name()] = append(all[typ.Name()], name)
			walk(typ.Field(i).Type)
		}
	}
	walk(reflect.TypeOf(v))
	return all
}

// The schema and the page have every field: one that is added is added there too.
func TestEveryFieldIsDocumented(t *testing.T) {
	schema, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/bench.md")
	if err != nil {
		t.Fatal(err)
	}
	for typ, names := range fields(line{}) {
		for _, name := range names {
			if !strings.Contains(string(schema), `"`+name+`": {`) {
				t.Errorf("%s of %s is not in the schema", name, typ)
			}
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("%s of %s is not on the page", name, typ)
			}
		}
	}
	compareSchema, err := os.ReadFile(compareSchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	for typ, names := range fields(lineDifference{}) {
		for _, name := range names {
			if !strings.Contains(string(compareSchema), `"`+name+`": {`) {
				t.Errorf("%s of %s is not in the schema", name, typ)
			}
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("%s of %s is not on the page", name, typ)
			}
		}
	}
	for _, v := range []Verdict{Better, Worse, Changed, Noise, TooFew, OnlyA, OnlyB, Unmeasured, OtherUnit, OtherWork} {
		if !strings.Contains(string(page), "`"+string(v)+"`") {
			t.Errorf("the verdict %q is not on the page", v)
		}
	}
}
