package corpus

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// record is a result as a line of JSON. A run writes each as soon as it has it, so that what a run
// that was ended has found is not lost, and the page can be written again without a run.
type record struct {
	Input, Dialect, Server string
	// Failure says which input there is not, and why; there is nothing else then.
	Failure string `json:",omitempty"`
	Size    int
	// Refused is the number of the client's error, RefusedText what it said.
	Refused     int               `json:",omitempty"`
	RefusedText string            `json:",omitempty"`
	Said        map[string]string `json:",omitempty"`
	Took        map[string]int64  // ms
}

func (r result) record() record {
	out := record{Input: r.input.name, Dialect: r.input.dialect, Server: r.server, Size: r.input.size, Failure: r.failure, Said: map[string]string{}, Took: map[string]int64{}}
	if r.refused != nil {
		out.Refused, out.RefusedText = max(r.refused.number, 1), r.refused.text
	}
	for name, o := range r.steps {
		out.Took[name] = o.took.Milliseconds()
		if o.said != "" {
			out.Said[name] = o.said
		}
	}
	return out
}

func (r record) result() result {
	out := result{input: input{name: r.Input, dialect: r.Dialect, size: r.Size}, server: r.Server, steps: map[string]outcome{}}
	if r.Refused != 0 {
		out.refused = &refusal{number: r.Refused, text: r.RefusedText}
	}
	for name, ms := range r.Took {
		out.steps[name] = outcome{said: r.Said[name], took: time.Duration(ms) * time.Millisecond}
	}
	return out
}

// records is a file of results.
type records struct {
	path string
	mu   sync.Mutex
}

func newRecords() (*records, error) {
	dir, err := cacheDir()
	return &records{path: filepath.Join(dir, "results.jsonl")}, err
}

// forget removes the results of earlier runs.
func (r *records) forget() error {
	if err := os.Remove(r.path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// add writes a result.
func (r *records) add(one result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	line, err := json.Marshal(one.record())
	if err != nil {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// writePage writes docs/corpus.md.
func (r *records) writePage() error {
	is, err := r.read()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs", "corpus.md"), []byte(is.page()), 0o644)
}

// read returns the last result of each input on each server, sorted.
func (r *records) read() (is report, err error) {
	f, err := os.Open(r.path)
	if err != nil {
		return is, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one record
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return is, err
		}
		if one.Failure != "" {
			is.failures = append(is.failures, one.Failure)
			continue
		}
		is.results = slices.DeleteFunc(is.results, func(old result) bool { return old.input.name == one.Input && old.server == one.Server })
		is.results = append(is.results, one.result())
	}
	slices.SortStableFunc(is.results, func(a, b result) int {
		return strings.Compare(order(a.input)+a.server, order(b.input)+b.server)
	})
	for _, one := range is.results {
		if !slices.ContainsFunc(is.inputs, func(in input) bool { return in.name == one.input.name }) {
			is.inputs = append(is.inputs, one.input)
		}
	}
	return is, lines.Err()
}

// order is by what inputs are sorted: the text of the package comes first.
func order(in input) string {
	name, _, _ := strings.Cut(in.name, "/")
	if in.dialect == packaged {
		return name + "/\x00"
	}
	return in.name + "\x00"
}
