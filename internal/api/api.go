// Package api is an instance's HTTP API: requests and answers as JSON over a Unix
// socket that only its owner can open. What the requests do is an Instance's task.
//
// openapi.yaml is the contract, and the invariant is that every answer keeps it: also
// to a path that does not exist, and after a panic, the body is JSON.
package api

import (
	"context"
	_ "embed" // openapi.yaml
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/client"
)

// Instance is what serves the requests: a running instance. Its methods may be
// called at the same time. The context ends when the caller goes away, and with it
// what was begun is to be undone. Errors match one of the Err values of this
// package, or are internal; their text ends in "\nhint: COMMAND" if there is one.
type Instance interface {
	Status(ctx context.Context) (client.Status, error)
	// Branch gets a name that keeps the rules of names.
	Branch(ctx context.Context, r client.BranchRequest) (client.Branch, error)
	Marks(ctx context.Context) ([]client.Mark, error)
	// Mark, DeleteMark and Rewind get a label that keeps the rules of names, so that
	// it can be a file's name.
	Mark(ctx context.Context, r client.MarkRequest) (client.Mark, error)
	DeleteMark(ctx context.Context, label string) error
	Rewind(ctx context.Context, label string) (client.Rewind, error)
	AddReplica(ctx context.Context, r client.ReplicaRequest) (client.Branch, error)
	Promote(ctx context.Context, r client.PromoteRequest) (client.Promotion, error)
	// Move gets a volume that is not empty.
	Move(ctx context.Context, r client.MoveRequest) (client.Move, error)

	// Backup and the like are about the archive of a durable instance.
	Backup(ctx context.Context) (client.Backup, error)
	Backups(ctx context.Context) ([]client.Backup, error)
	VerifyBackups(ctx context.Context) (client.Verification, error)
	PruneBackups(ctx context.Context) (client.Pruned, error)

	// Templates and databases get names of 1 to 64 characters, without / and NUL: a name
	// in a statement is to be quoted, and is none of a file.
	Templates(ctx context.Context) ([]client.Template, error)
	PutTemplate(ctx context.Context, name string) (client.Template, error)
	DeleteTemplate(ctx context.Context, name string) error
	Databases(ctx context.Context) ([]client.Database, error)
	// NewDatabase gets a name that is empty or needs no quotes, and a time to live of 0
	// (the default) to MaxTTL.
	NewDatabase(ctx context.Context, r client.DatabaseRequest) (client.Database, error)
	// ResetDatabase and RollbackDatabase get one of the constants.
	ResetDatabase(ctx context.Context, name string, counters client.ResetMode) (client.Reset, error)
	SetSavepoint(ctx context.Context, name string) error
	RollbackDatabase(ctx context.Context, name string, counters client.ResetMode) (client.Reset, error)
	DropDatabase(ctx context.Context, name string) error
	Database(ctx context.Context, name string) (client.Database, error)
	KeepDatabase(ctx context.Context, name string) (client.Database, error)
	// CreateTemplate gets a name that needs no quotes and a key.
	CreateTemplate(ctx context.Context, r client.TemplateRequest) (client.TemplateClaim, error)
	Limits(ctx context.Context) (client.Limits, error)
	SetLimits(ctx context.Context, l client.Limits) (client.Limits, error)
	// Metrics are in the text format of Prometheus.
	Metrics(ctx context.Context) ([]byte, error)
}

var _ Instance = (*client.Client)(nil)

//go:embed openapi.yaml
var document []byte

// Document returns the OpenAPI document of the API, in YAML.
func Document() []byte { return slices.Clone(document) }

// route is one call.
type route struct {
	method, path string
	// status is that of success.
	status int
	// body says that the request has one.
	body bool
	call func(context.Context, request) (any, error)
}

// request is what a call gets to know of a request.
type request struct {
	// label is the mark in the path, if the route has one.
	label string
	// name is the template or the database in the path, likewise.
	name string
	// query is what the URL has behind its path.
	query string
	body  []byte
}

// handler serves an Instance.
type handler struct {
	instance Instance
	log      *slog.Logger
	mux      *http.ServeMux
	// remote says that clients are on other machines.
	remote bool
}

// Handler serves the API of i. What is not the caller's fault goes to log.
func Handler(i Instance, log *slog.Logger) http.Handler { return newHandler(i, log, false) }

func newHandler(i Instance, log *slog.Logger, remote bool) *handler {
	h := &handler{instance: i, log: log, mux: http.NewServeMux(), remote: remote}
	allowed := map[string][]string{}
	for _, r := range h.routes() {
		name := r.method + " " + r.path
		if remote && !leasing[name] {
			h.mux.HandleFunc(name, h.forbid)
		} else {
			h.mux.HandleFunc(name, func(w http.ResponseWriter, req *http.Request) { h.serve(w, req, r) })
		}
		allowed[r.path] = append(allowed[r.path], r.method)
		if r.method == http.MethodGet {
			allowed[r.path] = append(allowed[r.path], http.MethodHead) // the mux adds it
		}
	}
	// Without these the mux would answer in plain text.
	for p, methods := range allowed {
		allow := strings.Join(slices.Sorted(slices.Values(methods)), ", ")
		h.mux.HandleFunc(p, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Allow", allow)
			h.fail(w, req, &refusal{
				status: http.StatusMethodNotAllowed, code: client.CodeMethod,
				text: "answer " + req.Method + " " + req.URL.Path + ": no such method\nhint: use " + allow,
			})
		})
	}
	h.mux.HandleFunc("/", h.noSuchPath)
	return h
}

// routes are the calls of openapi.yaml.
func (h *handler) routes() []route {
	createTemplate := h.createTemplate
	if h.remote {
		createTemplate = h.findTemplate
	}
	return []route{
		{http.MethodGet, "/v1/status", http.StatusOK, false, h.status},
		{http.MethodPost, "/v1/branch", http.StatusCreated, true, h.branch},
		{http.MethodGet, "/v1/marks", http.StatusOK, false, h.marks},
		{http.MethodPost, "/v1/marks", http.StatusCreated, true, h.mark},
		{http.MethodDelete, "/v1/marks/{label}", http.StatusNoContent, false, h.deleteMark},
		{http.MethodPost, "/v1/marks/{label}/rewind", http.StatusOK, false, h.rewind},
		{http.MethodPost, "/v1/move", http.StatusOK, true, h.move},
		{http.MethodPost, "/v1/replicas", http.StatusCreated, true, h.addReplica},
		{http.MethodPost, "/v1/promote", http.StatusOK, true, h.promote},
		{http.MethodGet, "/v1/backups", http.StatusOK, false, h.backups},
		{http.MethodPost, "/v1/backups", http.StatusCreated, false, h.backup},
		{http.MethodPost, "/v1/backups/verify", http.StatusOK, false, h.verifyBackups},
		{http.MethodPost, "/v1/backups/prune", http.StatusOK, false, h.pruneBackups},
		{http.MethodGet, "/v1/templates", http.StatusOK, false, h.templates},
		{http.MethodPost, "/v1/templates", http.StatusOK, true, createTemplate},
		{http.MethodPut, "/v1/templates/{name}", http.StatusOK, false, h.putTemplate},
		{http.MethodDelete, "/v1/templates/{name}", http.StatusNoContent, false, h.deleteTemplate},
		{http.MethodGet, "/v1/databases", http.StatusOK, false, h.databases},
		{http.MethodPost, "/v1/databases", http.StatusCreated, true, h.newDatabase},
		{http.MethodGet, "/v1/databases/{name}", http.StatusOK, false, h.database},
		{http.MethodPost, "/v1/databases/{name}/keep", http.StatusOK, false, h.keepDatabase},
		{http.MethodPost, "/v1/databases/{name}/reset", http.StatusOK, false, h.resetDatabase},
		{http.MethodPost, "/v1/databases/{name}/savepoint", http.StatusNoContent, false, h.setSavepoint},
		{http.MethodPost, "/v1/databases/{name}/rollback", http.StatusOK, false, h.rollbackDatabase},
		{http.MethodDelete, "/v1/databases/{name}", http.StatusNoContent, false, h.dropDatabase},
		{http.MethodGet, "/v1/pool", http.StatusOK, false, h.limits},
		{http.MethodPut, "/v1/pool", http.StatusOK, true, h.setLimits},
		{http.MethodGet, "/metrics", http.StatusOK, false, h.metrics},
		{http.MethodGet, "/v1/openapi.yaml", http.StatusOK, false, h.openapi},
	}
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != path.Clean(r.URL.Path) {
		h.noSuchPath(w, r) // the mux would redirect to the clean one
		return
	}
	h.mux.ServeHTTP(w, r)
}

func (h *handler) noSuchPath(w http.ResponseWriter, r *http.Request) {
	h.fail(w, r, &refusal{
		status: http.StatusNotFound, code: client.CodeNotFound,
		text: "answer " + r.Method + " " + r.URL.Path + ": no such path\nhint: GET /v1/openapi.yaml lists them",
	})
}

func (h *handler) status(ctx context.Context, r request) (any, error) {
	want, err := wantedOf(r.query)
	if err != nil {
		return nil, err
	}
	s, err := h.instance.Status(ctx)
	if err == nil {
		err = checkWanted(s, want)
	}
	// Lists are there even when they are empty: null is another type.
	s.Warnings, s.Marks = list(s.Warnings), list(s.Marks)
	return s, err
}

func (h *handler) branch(ctx context.Context, r request) (any, error) {
	req, err := decode[client.BranchRequest](r.body)
	if err != nil {
		return nil, err
	}
	if err := checkName("name", req.Name); err != nil {
		return nil, err
	}
	return h.instance.Branch(ctx, req)
}

func (h *handler) marks(ctx context.Context, _ request) (any, error) {
	m, err := h.instance.Marks(ctx)
	return list(m), err
}

func (h *handler) mark(ctx context.Context, r request) (any, error) {
	req, err := decode[client.MarkRequest](r.body)
	if err != nil {
		return nil, err
	}
	if err := checkName("label", req.Label); err != nil {
		return nil, err
	}
	return h.instance.Mark(ctx, req)
}

func (h *handler) deleteMark(ctx context.Context, r request) (any, error) {
	if err := checkName("label", r.label); err != nil {
		return nil, err
	}
	return nil, h.instance.DeleteMark(ctx, r.label)
}

func (h *handler) rewind(ctx context.Context, r request) (any, error) {
	if err := checkName("label", r.label); err != nil {
		return nil, err
	}
	return h.instance.Rewind(ctx, r.label)
}

func (h *handler) addReplica(ctx context.Context, r request) (any, error) {
	req, err := decode[client.ReplicaRequest](r.body)
	if err != nil {
		return nil, err
	}
	if err := checkName("name", req.Name); err != nil {
		return nil, err
	}
	return h.instance.AddReplica(ctx, req)
}

func (h *handler) promote(ctx context.Context, r request) (any, error) {
	q, err := decode[client.PromoteRequest](r.body)
	if err != nil {
		return nil, err
	}
	return h.instance.Promote(ctx, q)
}

func (h *handler) move(ctx context.Context, r request) (any, error) {
	q, err := decode[client.MoveRequest](r.body)
	if err != nil {
		return nil, err
	}
	if q.Volume == "" {
		return nil, invalid("read request: its volume is missing")
	}
	return h.instance.Move(ctx, q)
}

func (h *handler) backups(ctx context.Context, _ request) (any, error) {
	b, err := h.instance.Backups(ctx)
	return list(b), err
}

func (h *handler) backup(ctx context.Context, _ request) (any, error) { return h.instance.Backup(ctx) }

func (h *handler) verifyBackups(ctx context.Context, _ request) (any, error) {
	return h.instance.VerifyBackups(ctx)
}

func (h *handler) pruneBackups(ctx context.Context, _ request) (any, error) {
	return h.instance.PruneBackups(ctx)
}

// text is an answer that is not JSON.
type text struct {
	media string
	body  []byte
}

func (h *handler) openapi(context.Context, request) (any, error) {
	return text{"application/yaml", document}, nil
}

func (h *handler) metrics(ctx context.Context, _ request) (any, error) {
	m, err := h.instance.Metrics(ctx)
	return text{"text/plain; version=0.0.4; charset=utf-8", m}, err
}

// list makes an empty list of none.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
