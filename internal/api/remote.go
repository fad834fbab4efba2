package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/lobby"
)

// leasing are the calls that clients on other machines may make: those that a lease needs. What is not here they may not,
// so that a call that comes later is not theirs unless somebody says so.
var leasing = map[string]bool{
	"GET /v1/status":                      true,
	"GET /v1/templates":                   true,
	"POST /v1/templates":                  true, // finds a template, and builds none: see findTemplate
	"POST /v1/databases":                  true,
	"GET /v1/databases/{name}":            true,
	"DELETE /v1/databases/{name}":         true,
	"POST /v1/databases/{name}/reset":     true,
	"POST /v1/databases/{name}/savepoint": true,
	"POST /v1/databases/{name}/rollback":  true,
	"POST /v1/databases/{name}/keep":      true,
	"GET /v1/openapi.yaml":                true,
}

// RemoteHandler serves of the API of i what leases need, to clients on other machines that have the token. Its answers say
// of the server the host by which the client found the API, and nothing that is of use on the instance's machine only.
func RemoteHandler(i Instance, token string, log *slog.Logger) http.Handler {
	return guard(token, newHandler(i, log, true))
}

// guard lets requests with the token through.
func guard(token string, h *handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(given)) // so that the length tells nothing either
		if token == "" || !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Set("Connection", "close") // its body is not read
			h.fail(w, r, &refusal{
				http.StatusUnauthorized, client.CodeUnauthorized,
				"answer a client on another machine: it does not have the token\nhint: ramaria env --format remote, on the instance's machine, has " + client.EnvToken,
			})
			return
		}
		lobby.Known(r.Context())
		h.ServeHTTP(w, r)
	})
}

// forbid refuses a call that is not for clients on other machines.
func (h *handler) forbid(w http.ResponseWriter, r *http.Request) {
	h.fail(w, r, forbidden("answer %s %s: that is not for clients on other machines\nhint: the same on the instance's machine", r.Method, r.URL.Path))
}

func forbidden(format string, args ...any) error {
	return &refusal{http.StatusForbidden, client.CodeForbidden, fmt.Sprintf(format, args...)}
}

// findTemplate is createTemplate for clients on other machines: what is to be built is given up, since who builds gets the
// account of the instance.
func (h *handler) findTemplate(ctx context.Context, r request) (any, error) {
	answer, err := h.createTemplate(ctx, r)
	claim, ok := answer.(client.TemplateClaim)
	if err != nil || !ok || claim.State == client.StateReady {
		return answer, err
	}
	refused := forbidden("find template %s: there is none with that content, and only the instance's machine can make it\nhint: there, ramaria template add, or the same tests once", claim.Template.Name)
	return nil, errors.Join(refused, h.instance.DeleteTemplate(context.WithoutCancel(ctx), claim.Template.Name))
}

// hostName is how the host of a URL can be written.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,252})$`)

// hostOf is the host by which a client found the API, and so finds the server.
func hostOf(r *http.Request) (string, error) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if net.ParseIP(host) == nil && !hostName.MatchString(host) {
		return "", invalid("read request: its Host is %q, which names no machine", r.Host)
	}
	return host, nil
}

// abroad is an answer for a client on another machine, which finds this one by the name host.
func abroad(answer any, host string) (any, error) {
	switch a := answer.(type) {
	case client.Database:
		return databaseAbroad(a, host)
	case client.Status:
		return statusAbroad(a, host), nil
	case client.TemplateClaim, client.Reset, []client.Template, text, nil:
		return answer, nil
	}
	return nil, fmt.Errorf("answer a client on another machine: %w: by %T", errInternal, answer)
}

func databaseAbroad(d client.Database, host string) (client.Database, error) {
	u, err := url.Parse(d.URL)
	if err != nil {
		return client.Database{}, errors.New("write the URL of a database: it cannot be read") // what it says has the password
	}
	u.Host = net.JoinHostPort(host, strconv.Itoa(d.Port))
	d.Host, d.Socket, d.URL = host, "", u.String()
	return d, nil
}

// statusAbroad is what others may know: of the account of the instance, its paths and its marks nothing.
func statusAbroad(s client.Status, host string) client.Status {
	return client.Status{
		Name: s.Name, Phase: s.Phase, Since: s.Since, Warnings: []string{}, ReadySeconds: s.ReadySeconds, Log: s.Log, Marks: []client.Mark{}, Leases: s.Leases,
		Server:   client.Server{Flavour: s.Server.Flavour, Version: s.Server.Version},
		Endpoint: client.Endpoint{Host: host, Port: s.Endpoint.Port},
		Volume:   client.Volume{Kind: s.Volume.Kind, Bound: s.Volume.Bound},
	}
}
