package ui

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/view"
)

const (
	// interval is the time between two looks at the instances, while a page is open.
	interval = time.Second
	// mostPages is how many pages may be open at once.
	mostPages = 32
)

// hub looks at the instances for all pages that are open: once a second, however many there are, and not
// at all while there is none.
type hub struct {
	watcher *view.Watcher
	// wake is sent to when there is something new to look at: the first page, or an action that was done.
	wake chan struct{}

	mu     sync.Mutex
	pages  map[chan []byte]struct{}
	closed bool
}

func newHub(e *engine.Engine) *hub {
	return &hub{watcher: view.New(e), wake: make(chan struct{}, 1), pages: map[chan []byte]struct{}{}}
}

// open adds a page, which gets each overview, as JSON. The channel is closed when the server ends. ok is
// false if there are too many, or if it has ended.
func (h *hub) open() (page chan []byte, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.pages) >= mostPages {
		return nil, false
	}
	page = make(chan []byte, 1)
	h.pages[page] = struct{}{}
	h.soon()
	return page, true
}

// leave removes a page.
func (h *hub) leave(page chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pages, page)
}

// soon has the next look taken at once.
func (h *hub) soon() {
	select {
	case h.wake <- struct{}{}:
	default: // it is about to be
	}
}

func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pages) > 0
}

// run looks until ctx ends, and closes all pages then.
func (h *hub) run(ctx context.Context) {
	defer h.end()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if !h.watched() {
			h.watcher.Close()
			ticker.Stop()
			select {
			case <-ctx.Done():
				return
			case <-h.wake:
			}
			ticker.Reset(interval)
		}
		h.send(h.look(ctx))
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-h.wake:
		}
	}
}

// look is an overview as JSON, or what went wrong.
func (h *hub) look(ctx context.Context) []byte {
	o, err := h.watcher.Look(ctx)
	var frame any = o
	if err != nil {
		frame = failure(err)
	}
	text, err := json.Marshal(frame)
	if err != nil { // a number that JSON does not have
		text, _ = json.Marshal(failure(err))
	}
	return text
}

// send gives all pages an overview. One that has not taken the last one gets this one in its place.
func (h *hub) send(text []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for page := range h.pages {
		select {
		case <-page:
		default:
		}
		page <- text // hub alone sends
	}
}

func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for page := range h.pages {
		close(page)
	}
	h.pages = map[chan []byte]struct{}{}
	h.watcher.Close()
}
