package ui

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/progress"
)

// logTail is how much of a log, in bytes, is shown at first, and at most at a time.
const logTail = 32 << 10

// logText is what a log has that is new.
type logText struct {
	Text string `json:"text"`
	// Begins says that it is not the continuation of what was sent before.
	Begins bool `json:"begins,omitempty"`
	// File and At say how far the log is read now: the next request has them.
	File string `json:"file"`
	At   int64  `json:"at"`
}

// log answers GET /log?instance=NAME&which=server|supervisor with the end of the log, or, with file and at of the
// answer before, with what was added. It is no stream: browsers have six connections to a server, and a page
// whose rows kept one each had none left for its buttons.
func (s *Server) log(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	record, err := s.config.Engine.Registry.Get(query.Get("instance"))
	if err != nil {
		answerError(w, http.StatusConflict, err)
		return
	}
	paths := map[string]string{"server": record.LogPath(), "supervisor": record.SupervisorLog()}
	t := tail{path: paths[query.Get("which")], file: query.Get("file")}
	if t.path == "" {
		answerError(w, http.StatusBadRequest, errors.New("read log: which is server or supervisor"))
		return
	}
	if at := query.Get("at"); at != "" {
		if t.at, err = strconv.ParseInt(at, 10, 64); err != nil || t.at < 0 {
			answerError(w, http.StatusBadRequest, fmt.Errorf("read log from %q: it is no position", at))
			return
		}
	}
	text, err := t.more()
	if err != nil {
		answerError(w, http.StatusConflict, err)
		return
	}
	answer(w, http.StatusOK, text)
}

// tail follows a log that is cut to nothing, or replaced by another file, when it has grown large, and when
// its server starts.
type tail struct {
	path string
	// file is which file was read, up to at; "" for none.
	file string
	at   int64
}

// more returns what is new.
func (t *tail) more() (logText, error) {
	same := func(text string, begins bool) (logText, error) { return logText{text, begins, t.file, t.at}, nil }
	f, err := os.Open(t.path)
	if errors.Is(err, os.ErrNotExist) {
		return same("", false) // a start is between the two, or there is none yet
	}
	if err != nil {
		return logText{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return logText{}, err
	}
	is := fi.Sys().(*syscall.Stat_t)
	id := fmt.Sprintf("%d-%d", is.Dev, is.Ino)
	begins := id != t.file || fi.Size() < t.at
	if !begins && fi.Size() == t.at {
		return same("", false)
	}
	if begins {
		t.at = 0
	}
	from := max(t.at, fi.Size()-logTail)
	text := make([]byte, fi.Size()-from)
	n, err := f.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return logText{}, err
	}
	text = text[:n]
	if from > t.at { // what is shown begins with a whole line
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	t.file, t.at = id, from+int64(n)
	return same(progress.Plain(string(text)), begins)
}
