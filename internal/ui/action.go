package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// maxRequest is the size, in bytes, of the largest request.
const maxRequest = 64 << 10

// request asks for an action.
type request struct {
	Action   string `json:"action"`
	Instance string `json:"instance"`
	// New is the name of a branch, and Label that of a mark.
	New   string `json:"new"`
	Label string `json:"label"`
	// Replace replaces a mark of that label.
	Replace bool `json:"replace"`
	// Databases are leases to reset.
	Databases []string `json:"databases"`
}

// result says what became of an action.
type result struct {
	// Command is the command that does the same.
	Command string   `json:"command"`
	Text    string   `json:"text"`
	Notes   []string `json:"notes,omitempty"`
}

// action is what a button stands for.
type action struct {
	// words are those of its command, after "ramaria".
	words func(request) []string
	do    func(context.Context, *engine.Engine, request) (string, error)
}

var actions = map[string]action{
	"branch": {func(q request) []string { return []string{"branch", q.Instance, q.New} }, branch},
	"mark":   {markWords, mark},
	"rewind": {func(q request) []string { return []string{"rewind", q.Instance, q.Label} }, rewind},
	"reset":  {resetWords, reset},
	"backup": {func(q request) []string { return []string{"backup", q.Instance} }, backup},
	"down":   {func(q request) []string { return []string{"down", q.Instance} }, down},
}

// do answers POST /do: it does what a button stands for, to its end, whether the page stays open or not.
func (s *Server) do(w http.ResponseWriter, r *http.Request) {
	var q request
	if err := decode(r, &q); err != nil {
		answerError(w, http.StatusBadRequest, err)
		return
	}
	a, ok := actions[q.Action]
	if !ok {
		answerError(w, http.StatusBadRequest, fmt.Errorf("do %q: there is no such action", q.Action))
		return
	}
	if err := instance.CheckName(q.Instance); err != nil {
		answerError(w, http.StatusBadRequest, err)
		return
	}
	s.work.Add(1)
	defer s.work.Done()
	heard := &notes{}
	e := s.config.Engine
	e.Listener = heard
	text, err := a.do(s.life, &e, q)
	s.hub.soon()
	if err != nil {
		answerError(w, http.StatusConflict, err)
		return
	}
	answer(w, http.StatusOK, result{Command: command(e.Home, a.words(q)...), Text: text, Notes: heard.taken()})
}

func branch(ctx context.Context, e *engine.Engine, q request) (string, error) {
	b, err := e.Branch(ctx, engine.BranchRequest{Name: q.Instance, New: q.New})
	if err != nil {
		return "", err
	}
	if b.Ran {
		return fmt.Sprintf("%s runs, %s after it was asked for; %s was paused for %s", q.New, short(b.Ready), q.Instance, short(b.Pause)), nil
	}
	return q.New + " runs, with what " + q.Instance + " had when it ended", nil
}

func markWords(q request) []string {
	words := []string{"mark", q.Instance, q.Label}
	if q.Replace {
		words = append(words, "--replace")
	}
	return words
}

func mark(ctx context.Context, e *engine.Engine, q request) (string, error) {
	m, err := e.Mark(ctx, engine.MarkRequest{Name: q.Instance, Label: q.Label, Replace: q.Replace})
	if err != nil {
		return "", err
	}
	if m.Ran {
		return fmt.Sprintf("marked %s as %s in %s; it was paused for %s", q.Instance, q.Label, short(m.Took), short(m.Pause)), nil
	}
	return fmt.Sprintf("marked %s, which does not run, as %s", q.Instance, q.Label), nil
}

func rewind(ctx context.Context, e *engine.Engine, q request) (string, error) {
	r, err := e.Rewind(ctx, engine.RewindRequest{Name: q.Instance, Label: q.Label})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("rewound %s to %s in %s", q.Instance, q.Label, short(r.Took)), nil
}

func resetWords(q request) []string {
	return append([]string{"db", "reset", "-i", q.Instance}, q.Databases...)
}

// reset resets leases one after the other. One that fails leaves the others alone, as the command does.
func reset(ctx context.Context, e *engine.Engine, q request) (string, error) {
	if len(q.Databases) == 0 {
		return "", errors.New("reset leases: none is named")
	}
	i, err := e.Running(q.Instance)
	if err != nil {
		return "", err
	}
	c := client.New(i.APISocket())
	defer c.Close()
	var done []string
	var failed []error
	for _, name := range q.Databases {
		r, err := c.ResetDatabase(ctx, name, client.RestoreCounters)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		done = append(done, fmt.Sprintf("%s in %s (%s)", name, short(time.Duration(r.Micros)*time.Microsecond), r.Way))
		for _, w := range r.Warnings {
			e.Listener.Note("warning: " + w)
		}
	}
	if err := errors.Join(failed...); err != nil {
		if len(done) > 0 {
			e.Listener.Note("reset " + strings.Join(done, ", "))
		}
		return "", err
	}
	return "reset " + strings.Join(done, ", "), nil
}

func backup(ctx context.Context, e *engine.Engine, q request) (string, error) {
	b, err := e.Backup(ctx, q.Instance)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("backed up %s as %d: %s of data, %s written", q.Instance, b.ID, volume.FormatBytes(b.DataBytes), volume.FormatBytes(b.StoredBytes))
	if b.Snapshot != nil {
		text += "; it was paused for " + short(time.Duration(b.Snapshot.PauseMicros)*time.Microsecond)
	}
	return text, nil
}

func down(ctx context.Context, e *engine.Engine, q request) (string, error) {
	if err := e.Down(ctx, engine.DownRequest{Name: q.Instance}); err != nil {
		return "", err
	}
	return "stopped " + q.Instance + "; it keeps its data", nil
}

// short writes a time with three digits or so.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// notes keeps what a use case says meanwhile.
type notes struct {
	mu   sync.Mutex
	said []string
}

// Note implements engine.Listener.
func (n *notes) Note(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, progress.Plain(text))
}

// Progress implements engine.Listener.
func (n *notes) Progress() (io.Writer, bool) { return io.Discard, false }

func (n *notes) taken() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.said
}

// failed is an answer that says why not.
type failed struct {
	Error trouble `json:"error"`
}

type trouble struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// failure is an error for the page.
func failure(err error) failed {
	text, hint, _ := strings.Cut(err.Error(), "\nhint: ")
	return failed{trouble{progress.Plain(text), progress.Plain(hint)}}
}

func answerError(w http.ResponseWriter, status int, err error) { answer(w, status, failure(err)) }

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // to a browser that may have gone
}

// decode reads a request of the page.
func decode(r *http.Request, v any) error {
	d := json.NewDecoder(io.LimitReader(r.Body, maxRequest))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	return nil
}
