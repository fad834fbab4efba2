package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/ramaria-db/ramaria/internal/progress"
)

const (
	// mostLogs is how many logs may be followed at once.
	mostLogs = 16
	// logTail is how much of a log, in bytes, is shown at first, and at most at a time.
	logTail = 32 << 10
	// logInterval is how often a log is looked at.
	logInterval = time.Second
)

// logText is what a log has that is new.
type logText struct {
	Text string `json:"text"`
	// Begins says that it is not the continuation of what was sent before.
	Begins bool `json:"begins,omitempty"`
}

// log answers GET /log?instance=NAME&which=server|supervisor with the end of the log, and what is added.
func (s *Server) log(w http.ResponseWriter, r *http.Request) {
	record, err := s.config.Engine.Registry.Get(r.URL.Query().Get("instance"))
	if err != nil {
		answerError(w, http.StatusConflict, err)
		return
	}
	paths := map[string]string{"server": record.LogPath(), "supervisor": record.SupervisorLog()}
	path := paths[r.URL.Query().Get("which")]
	if path == "" {
		answerError(w, http.StatusBadRequest, errors.New("read log: which is server or supervisor"))
		return
	}
	select {
	case s.logs <- struct{}{}:
		defer func() { <-s.logs }()
	default:
		answerError(w, http.StatusServiceUnavailable, fmt.Errorf("read log: %d are followed already", mostLogs))
		return
	}
	out, t := beginStream(w), tail{path: path}
	for first := true; ; first = false {
		text, err := t.more()
		if err != nil {
			text = &logText{Text: err.Error() + "\n"}
		}
		if text == nil && first {
			text = &logText{Begins: true}
		}
		if text != nil {
			data, err := json.Marshal(text)
			if err != nil || !out.send("log", data) {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.serving.Done():
			return
		case <-time.After(logInterval):
		}
	}
}

// tail follows a log that is cut to nothing, or replaced by another file, when it has grown large, and when
// its server starts.
type tail struct {
	path string
	// was is the file, read up to at.
	was os.FileInfo
	at  int64
}

// more returns what is new, nil for nothing.
func (t *tail) more() (*logText, error) {
	fi, err := os.Stat(t.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // a start is between the two, or there is none yet
	}
	if err != nil {
		return nil, err
	}
	begins := t.was == nil || !os.SameFile(t.was, fi) || fi.Size() < t.at
	if !begins && fi.Size() == t.at {
		return nil, nil //nolint:nilnil // as said
	}
	if begins {
		t.at = 0
	}
	t.was = fi
	f, err := os.Open(t.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from := max(t.at, fi.Size()-logTail)
	text := make([]byte, fi.Size()-from)
	n, err := f.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	t.at = from + int64(n)
	return &logText{Text: progress.Plain(string(text[:n])), Begins: begins}, nil
}
