package runner

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func written(t testing.TB, results ...Result) string {
	t.Helper()
	var b bytes.Buffer
	for i := range results {
		if err := results[i].WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func mustRead(t testing.TB, text string) []Result {
	t.Helper()
	results, err := ReadJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// randomResult makes a result with a bit of everything that a line can hold.
func randomResult(r *rand.Rand) Result {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	s := Scenario{
		Name: pick("cycle", "load", "oltp"), Title: pick("", "what a round does", "µ <&> \u2028 \"x\""),
		Unit: []Unit{Seconds, PerSecond, Bytes, Count, "new"}[r.IntN(5)], XName: pick("", "threads"),
	}
	if r.IntN(2) > 0 {
		s.Settings = map[string]string{"server": pick("mariadb-10.11.19", "mysql-8.4.3"), "empty": ""}
	}
	for i := range r.IntN(4) {
		s.Beside = append(s.Beside, Measure{fmt.Sprint("measure ", i), []Unit{Seconds, Bytes}[r.IntN(2)]})
	}
	for i := range 1 + r.IntN(6) {
		s.Cases = append(s.Cases, Case{
			Name: fmt.Sprint(pick("row ", "ramaria "), i), Ours: r.IntN(2) > 0, Settings: pick("", "stock"), Base: pick("", "row 0"),
			Series: pick("", "disk"), X: float64(i), Command: pick("", "", "", "ramaria bench one"),
		})
	}
	result := newResult(s)
	result.Machine = Machine{CPU: pick("A", "B"), Cores: r.IntN(9), MemoryBytes: r.Int64N(1e12), Kernel: "6.1"}
	if r.IntN(2) > 0 {
		result.Machine.Directories = []Directory{{Name: "disk", Path: "/x", FsyncP50: r.Float64()}}
	}
	if r.IntN(2) > 0 {
		result.Ramaria, result.Time = pick("1.2.3", "dev"), time.Unix(r.Int64N(1e10), 0).UTC()
	}
	result.Command, result.Conclusion, result.Interrupted = pick("", "ramaria bench"), pick("", "it is faster"), r.IntN(4) == 0
	result.Failed = pick("", "check answer of case \"A\": it is wrong")
	for i := range result.Rows {
		row := &result.Rows[i]
		row.Rounds = r.IntN(5)
		for range row.Rounds * (1 + r.IntN(3)) {
			row.Samples = append(row.Samples, math.Exp(40*(r.Float64()-0.5)))
		}
		for _, m := range s.Beside {
			if row.beside == nil {
				row.beside = map[string][]float64{}
			}
			if r.IntN(2) > 0 {
				row.beside[m.Name] = []float64{r.Float64()}
			}
		}
	}
	result.summarise()
	return result
}

func TestReadJSONKeepsEverything(t *testing.T) {
	const cases = 300
	r := rand.New(rand.NewPCG(1, 2))
	for range cases {
		var runs []Result
		for range 1 + r.IntN(3) {
			runs = append(runs, randomResult(r))
		}
		want := written(t, runs...)
		if diff := cmp.Diff(want, written(t, mustRead(t, want)...)); diff != "" {
			t.Fatalf("write, read, write differs:\n%s", diff)
		}
	}
}

// TestOursOfFiles: a line says whether its row is of Ramaria, and where an older one does not, its name does.
func TestOursOfFiles(t *testing.T) {
	for says, want := range map[string]bool{`"row":"ramaria, xfs"`: true, `"row":"stock"`: false, `"row":"no ramaria","ours":false`: false, `"row":"wheatfs","ours":true`: true} {
		got := mustRead(t, `{"schema":1,"scenario":"a","unit":"s","title":"t",`+says+`}`)
		if got[0].Rows[0].Ours != want {
			t.Errorf("%s is of Ramaria: %v", says, !want)
		}
	}
	r := newResult(Scenario{Name: "a", Title: "t", Unit: Seconds, Cases: []Case{{Name: "no ramaria"}, {Name: "ramaria", Ours: true}}})
	if got := mustRead(t, written(t, r))[0].Rows; got[0].Ours || !got[1].Ours {
		t.Errorf("read again, the rows are %+v", got)
	}
}

func TestReadJSONStructures(t *testing.T) {
	want := exampleResult()
	want.Command = "ramaria bench cycle"
	want.Rows[1].Command, want.Rows[2].Command = "CLIENT < dump.sql", "ramaria bench cycle --volume shm"
	got := mustRead(t, written(t, want))
	if len(got) != 1 {
		t.Fatalf("%d results, want 1", len(got))
	}
	same := cmp.Comparer(near)
	hidden := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".beside" }, cmp.Ignore())
	if diff := cmp.Diff(want, got[0], same, hidden); diff != "" {
		t.Error(diff)
	}
}

func TestReadJSONTellsRunsApart(t *testing.T) {
	one, other := exampleResult(), exampleResult()
	other.Machine.Kernel = "6.19.0"
	newer, later := exampleResult(), exampleResult()
	newer.Ramaria, later.Time = "1.3.0", later.Time.Add(time.Second)
	for _, r := range []*Result{&newer, &later} { // which no name that comes twice tells apart
		r.Rows = r.Rows[2:]
	}
	part := exampleResult()
	part.Rows = part.Rows[:2]
	rest := exampleResult()
	rest.Rows, rest.Settings = rest.Rows[2:], map[string]string{"server": "mysql-8.4.3"}
	unit := exampleResult()
	unit.Rows, unit.Unit = unit.Rows[2:], PerSecond
	for _, tc := range []struct {
		name string
		runs []Result
		rows []int
	}{
		{"one", []Result{one}, []int{4}},
		{"the same twice", []Result{one, one}, []int{4, 4}},
		{"another machine", []Result{one, other}, []int{4, 4}},
		{"another scenario", []Result{one, basedResult(), one}, []int{4, 5, 4}},
		{"half of it, other settings", []Result{part, rest}, []int{2, 2}},
		{"half of it, another unit", []Result{part, unit}, []int{2, 2}},
		{"half of it, another ramaria", []Result{part, newer}, []int{2, 2}},
		{"half of it, another time", []Result{part, later}, []int{2, 2}},
		{"none", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var rows []int
			for _, r := range mustRead(t, "\n"+written(t, tc.runs...)+" \r\n") {
				rows = append(rows, len(r.Rows))
			}
			if diff := cmp.Diff(tc.rows, rows); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Before there was row_command, the command of a row stood in the place of that of the scenario.
func TestReadJSONOfOldCommands(t *testing.T) {
	const row = `{"schema":1,"scenario":"s","unit":"s","rounds":0,"samples":null,"row":`
	for text, want := range map[string][]string{
		row + `"a","command":"x"}` + "\n" + row + `"b","command":"x"}`:                   {"x", "", ""},
		row + `"a","command":"x"}` + "\n" + row + `"b","command":"y"}`:                   {"", "x", "y"},
		row + `"a","command":"x"}` + "\n" + row + `"b"}`:                                 {"", "x", ""},
		row + `"a","command":"x"}` + "\n" + row + `"b","command":"x","row_command":"y"}`: {"x", "", "y"},
	} {
		r := mustRead(t, text)[0]
		if diff := cmp.Diff(want, []string{r.Command, r.Rows[0].Command, r.Rows[1].Command}); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// Other programs, and later versions, may write more or less than this one.
func TestReadJSONOfOthers(t *testing.T) {
	got := mustRead(t, `{"schema":1,"scenario":"s","row":"a","unit":"s","median":2,"p99":null,"rounds":3,"later":{"x":[1]}}
{"schema":1,"scenario":"s","row":"b","unit":"s","rounds":0,"samples":null,"note":"not here"}
{"schema":1,"scenario":"s","row":"c","unit":"s","median":9,"ratio":0.5,"rounds":3,"samples":[3,1,2]}`)
	if len(got) != 1 || len(got[0].Rows) != 3 {
		t.Fatalf("results: %+v", got)
	}
	a, b, c := got[0].Rows[0], got[0].Rows[1], got[0].Rows[2]
	if a.Median != 2 || !math.IsNaN(a.P99) || a.Count != 3 {
		t.Errorf("statistics without samples: %+v", a)
	}
	if !math.IsNaN(b.Median) || b.Note != "not here" {
		t.Errorf("a row without figures: %+v", b)
	}
	if c.Median != 2 || c.Ratio != 0.5 {
		t.Errorf("statistics are those of the samples, the ratio that of the file: %+v", c)
	}
}

func TestReadJSONRefuses(t *testing.T) {
	good := `{"schema":1,"scenario":"s","row":"a","unit":"s","rounds":1,"samples":[1]}` + "\n"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"a newer schema", good + `{"schema":7,"scenario":{}}`, []string{"line 2: schema 7 is newer than 1", "hint: use the ramaria that wrote it"}},
		{"no schema", `{"scenario":"s"}`, []string{"line 1: there is no field schema", "hint: "}},
		{"a broken line", good + good + `{"schema":1,`, []string{"line 3: it is not a result in JSON (unexpected end of JSON input)", "hint: "}},
		{"a table", "machine: Example CPU\n", []string{"line 1: it is not a result in JSON (invalid character 'm'", "--format json"}},
		{"an array", "[]", []string{"line 1: it is not a result in JSON (json: cannot unmarshal array"}},
		{"a wrong type", `{"schema":1,"scenario":"s","row":"a","unit":"s","median":"2"}`, []string{"line 1: ", "median"}},
		{"two on a line", strings.TrimSpace(good) + good, []string{"line 1: it is not a result in JSON (invalid character '{' after top-level value"}},
		{"no name", `{"schema":1,"scenario":"s","unit":"s"}`, []string{"scenario, row and unit"}},
		{"rounds below 0", `{"schema":1,"scenario":"s","row":"a","unit":"s","rounds":-1}`, []string{`row "a" has -1 rounds`}},
		{"a measure twice", `{"schema":1,"scenario":"s","row":"a","unit":"s","beside":[{"name":"m"},{"name":"m"}]}`, []string{`"m" beside twice`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ReadJSON(strings.NewReader(tc.text))
			if err == nil {
				t.Fatalf("no error, but %+v", got)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestReadJSONLimits(t *testing.T) {
	text := written(t, exampleResult())
	longest := 0
	for line := range strings.Lines(text) {
		longest = max(longest, len(line))
	}
	if _, err := readLines(strings.NewReader(text), longest+1, 4); err != nil {
		t.Errorf("within the limits: %v", err)
	}
	for name, read := range map[string]func() error{
		"longer than":      func() error { _, err := readLines(strings.NewReader(text), longest-1, 4); return err },
		"more than 3 rows": func() error { _, err := readLines(strings.NewReader(text), MaxLine, 3); return err },
	} {
		if err := read(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
}

func TestMergeMeasures(t *testing.T) {
	of := func(names string) []Measure {
		var list []Measure
		for _, n := range strings.Fields(names) {
			list = append(list, Measure{Name: n})
		}
		return list
	}
	for _, tc := range []struct {
		lists []string
		want  string
	}{
		{nil, ""}, {[]string{"", "a"}, "a"}, {[]string{"b", "a b"}, "a b"}, {[]string{"a", "c", "b c", "a b"}, "a b c"},
		{[]string{"a b", "b a"}, "a b"}, {[]string{"a b", "b c", "c a"}, "a b c"},
	} {
		var lists [][]Measure
		for _, l := range tc.lists {
			lists = append(lists, of(l))
		}
		if diff := cmp.Diff(of(tc.want), mergeMeasures(lists)); diff != "" {
			t.Errorf("%q: %s", tc.lists, diff)
		}
	}
}

// FuzzReadJSON: what can be read is written in a form that stays the same.
func FuzzReadJSON(f *testing.F) {
	// They are short: the engine spends its time on making long ones shorter.
	const row = `{"schema":1,"scenario":"s","row":"a","unit":"s",`
	for _, seed := range []string{
		row + `"samples":[3,1,2,4],"rounds":4}`,
		row + `"rounds":1,"settings":{"row":"x"},"ramaria":"1","time":"2026-11-22T06:00:00+01:00"}` + "\n" + row + `"note":"n"}`,
		row + `"samples":[1e308,-1e308],"series":"x","x":2}`,
		row + `"beside":[{"name":"m","unit":"B","median":-0}],"command":"c","row_command":"r"}`,
		row + `"machine":{"places":[{"name":"d"}]},"interrupted":true}`,
		"{\"schema\":2}\n[]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		results, err := ReadJSON(bytes.NewReader(b))
		if err != nil {
			return
		}
		once := written(t, results...)
		again := mustRead(t, once)
		if twice := written(t, again...); once != twice {
			t.Fatalf("written once:\n%s\nand twice:\n%s", once, twice)
		}
		for _, d := range Compare(results, again) {
			if v := d.Verdict; v == Better || v == Worse || v == Changed {
				t.Fatalf("a file differs from itself: %+v", d)
			}
		}
	})
}
