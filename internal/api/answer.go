package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
)

// serve reads the request, makes the call, and answers.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, to route) {
	answer, err := h.call(w, r, to)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	switch answer := answer.(type) {
	case nil:
		w.WriteHeader(to.status)
	case text:
		w.Header().Set("Content-Type", answer.media)
		w.WriteHeader(to.status)
		w.Write(answer.body)
	default:
		h.write(w, r, to.status, answer)
	}
}

// call makes the call; a panic in it is an error.
func (h *handler) call(w http.ResponseWriter, r *http.Request, to route) (_ any, err error) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error("panic in a request", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("answer %s %s: %w: it panicked\nhint: the instance's supervisor.log has the details", r.Method, r.URL.Path, errInternal)
		}
	}()
	limit := int64(0)
	if to.body {
		limit = MaxBody
	}
	body, err := readBody(w, r, limit)
	if err != nil {
		return nil, err
	}
	if len(body) > 0 { // without one the Content-Type is not what is wrong
		if err := checkMedia(r); err != nil {
			return nil, err
		}
	}
	q := request{label: r.PathValue("label"), name: r.PathValue("name"), query: r.URL.RawQuery, body: body}
	if !h.remote {
		return to.call(r.Context(), q)
	}
	host, err := hostOf(r)
	if err != nil {
		return nil, err
	}
	answer, err := to.call(r.Context(), q)
	if err != nil {
		return nil, err
	}
	return abroad(answer, host)
}

// fail answers with an error, and logs one that is not the caller's.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	refusal := refusalOf(err)
	if refusal.status == http.StatusInternalServerError {
		if ctx := r.Context(); ctx.Err() != nil {
			// Whatever it is, it comes of that. The client does not read the answer, unless it was
			// the supervisor that ended the context.
			h.log.Info("request given up", "method", r.Method, "path", r.URL.Path, "error", err)
			refusal = refusalOf(As(ErrUnavailable, fmt.Errorf("answer %s %s: given up: %w", r.Method, r.URL.Path, context.Cause(ctx))))
		} else {
			h.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
		}
	}
	h.write(w, r, refusal.status, refusal.body())
}

// write answers with JSON. It is made before anything is sent, so that what cannot be
// written is an error and not half an answer.
func (h *handler) write(w http.ResponseWriter, r *http.Request, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		h.fail(w, r, fmt.Errorf("write answer: %w", err))
		return
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	w.Write(append(b, '\n'))
}
