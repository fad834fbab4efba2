package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/internal/lobby"
)

const (
	// mostSessions is how many browsers may have the page at once; the first to come is the first to go.
	mostSessions = 16
	// cookieName is the session's.
	cookieName = "ramaria"
)

// door lets in who has a one-time link, and afterwards who has the cookie that it was exchanged for.
//
// Browsers send cookies to every port of a host, and so to servers of other users on 127.0.0.1. So each
// session has a path of its own that nobody else knows, and the cookie is for that path alone.
type door struct {
	hosts []string // that requests may be addressed to

	mu       sync.Mutex
	token    string    // of the next link
	sessions []session // the oldest first
}

// session is a browser that was let in.
type session struct{ path, key string }

func newDoor(port int) *door {
	p := strconv.Itoa(port)
	return &door{hosts: []string{"127.0.0.1:" + p, "localhost:" + p}, token: secret()}
}

// secret is text of 128 random bits at least.
func secret() string { return rand.Text() }

// link is the link that lets the next browser in, once.
func (d *door) link() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return "http://" + d.hosts[0] + "/?token=" + d.token
}

// same compares without telling by the time it takes how much is right.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// admit exchanges a token for a session.
func (d *door) admit(token string) (session, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !same(token, d.token) {
		return session{}, false
	}
	d.token = secret()
	s := session{path: secret(), key: secret()}
	d.sessions = append(d.sessions, s)
	if len(d.sessions) > mostSessions {
		d.sessions = d.sessions[1:]
	}
	return s, true
}

// knows returns the path of the session that a request belongs to.
func (d *door) knows(r *http.Request) (path string, ok bool) {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sessions {
		if !same(first, s.path) {
			continue
		}
		for _, c := range r.CookiesNamed(cookieName) {
			if same(c.Value, s.key) {
				return "/" + s.path, true
			}
		}
	}
	return "", false
}

// policy has the browser load nothing from elsewhere, run nothing that is written into the page, and show
// the page in no other.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard serves in to those who were let in.
func (d *door) guard(in http.Handler, used func(next string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !d.addressed(r.Host) {
			// A name that another site has pointed to this machine.
			refuse(w, http.StatusMisdirectedRequest, "This is the page of ramaria ui, and has another address: "+d.hosts[0]+".")
			return
		}
		if r.Method != http.MethodGet && r.Header.Get("Origin") != "http://"+r.Host {
			refuse(w, http.StatusForbidden, "Another page has sent this request, and may not.")
			return
		}
		if r.URL.Path == "/" && r.Method == http.MethodGet && r.URL.Query().Has("token") {
			if s, ok := d.admit(r.URL.Query().Get("token")); ok {
				lobby.Known(r.Context())
				s.enter(w)
				used(d.link())
				return
			}
		}
		if r.URL.Path == "/favicon.ico" && r.Method == http.MethodGet {
			// Browsers ask for it where a document names no icon, such as the one that sends them on.
			w.WriteHeader(http.StatusNoContent)
			return
		}
		path, ok := d.knows(r)
		if !ok {
			refuse(w, http.StatusForbidden, "This link was used already, or is of a ramaria ui that has ended. Each link lets one browser in, once: the terminal in which ramaria ui runs has the next one. Otherwise type: ramaria ui")
			return
		}
		lobby.Known(r.Context())
		http.StripPrefix(path, in).ServeHTTP(w, r)
	})
}

// addressed reports whether a request is meant for this server.
func (d *door) addressed(host string) bool {
	for _, h := range d.hosts {
		if host == h {
			return true
		}
	}
	return false
}

// enter sends a browser to the session's page. A redirect would do, but for a link that was clicked in a
// page of another site, such as a terminal in a browser: a Strict cookie does not go with it.
func (s session) enter(w http.ResponseWriter) {
	path := "/" + s.path + "/"
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.key, Path: path, HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // loopback has no TLS, by which Secure would be kept
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!DOCTYPE html><html lang="en"><meta name="color-scheme" content="light dark"><meta http-equiv="refresh" content="0;url=%s"><title>Ramaria</title><p><a href="%[1]s">Ramaria</a></p></html>`+"\n", path)
}

// refuse answers in a sentence.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>Ramaria</title><p>%s</p></html>`+"\n", html.EscapeString(text))
}
