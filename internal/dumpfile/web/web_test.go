package web

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/bucket/s3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const text = "CREATE TABLE t (a INT);\n"

// handler answers by the path that is asked for.
func handler(elsewhere *string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch r.URL.Path {
		case "/shop.sql":
			fmt.Fprint(w, text)
		case "/chunked.sql":
			fmt.Fprint(w, text)
			w.(http.Flusher).Flush()
			fmt.Fprint(w, text)
		case "/short.sql":
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, text)
		case "/private.sql":
			if user != "me" || password != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, text)
		case "/signed.sql":
			if r.URL.Query().Get("signature") != "secret" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			fmt.Fprint(w, text)
		case "/error":
			w.WriteHeader(http.StatusInternalServerError)
		case "/sent-on":
			http.Redirect(w, r, "/shop.sql", http.StatusFound)
		case "/sent-down":
			http.Redirect(w, r, *elsewhere+"/shop.sql?signature=secret", http.StatusFound)
		case "/sent-astray":
			w.Header().Set("Location", "https://h/%zz?signature=secret")
			w.WriteHeader(http.StatusFound)
		case "/referer":
			http.Redirect(w, r, "/referred", http.StatusFound)
		case "/referred":
			fmt.Fprint(w, r.Referer())
		case "/in-a-circle":
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		case "/stall.sql":
			fmt.Fprint(w, text)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
}

// servers are a server over TLS whose authority is trusted, and a plain one.
func servers(t *testing.T) (tls, plain string) {
	t.Helper()
	var elsewhere string
	a, b := httptest.NewTLSServer(handler(&elsewhere)), httptest.NewServer(handler(&elsewhere))
	elsewhere = b.URL
	t.Cleanup(a.Close)
	t.Cleanup(b.Close)
	trust(t, a)
	return a.URL, b.URL
}

// trust has the authority of a server be used, for the rest of the process: the pool of the system is read once.
func trust(t *testing.T, s *httptest.Server) {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", ca)
}

func fetch(t *testing.T, url string) (string, int64, error) {
	t.Helper()
	d, err := Open(t.Context(), url)
	if err != nil {
		return "", 0, err
	}
	b, err := io.ReadAll(d)
	return string(b), d.Size, errors.Join(err, d.Close())
}

func TestOpen(t *testing.T) {
	tls, plain := servers(t)
	host := strings.TrimPrefix(tls, "https://")
	for _, c := range []struct {
		name, url, want string
		size            int64
	}{
		{"https", tls + "/shop.sql", text, int64(len(text))},
		{"of a size that is not said", tls + "/chunked.sql", text + text, -1},
		{"http of this machine", plain + "/shop.sql", text, int64(len(text))},
		{"user and password", "https://me:secret@" + host + "/private.sql", text, int64(len(text))},
		{"a signed query", tls + "/signed.sql?signature=secret", text, int64(len(text))},
		{"sent on", tls + "/sent-on", text, int64(len(text))},
		{"sent on by a signed URL", tls + "/referer?signature=secret", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, size, err := fetch(t, c.url)
			if err != nil || got != c.want || size != c.size {
				t.Errorf("%q of %d bytes, %v", got, size, err)
			}
		})
	}
}

func TestOpenFaults(t *testing.T) {
	tls, plain := servers(t)
	host := strings.TrimPrefix(tls, "https://")
	for _, c := range []struct{ name, url, want string }{
		{"not there", tls + "/nosuch.sql?signature=secret", "/nosuch.sql: the server answered 404 Not Found\nhint: "},
		{"wrong password", "https://me:secret2@" + host + "/private.sql", "/private.sql: the server answered 401 Unauthorized\nhint: "},
		{"wrong signature", tls + "/signed.sql?signature=secret2", "/signed.sql: the server answered 403 Forbidden\nhint: "},
		{"an error of the server", tls + "/error", "the server answered 500"},
		{"cut short", tls + "/short.sql", "the connection ended after 24 of 1000 bytes\nhint: try again"},
		{"sent on to http", tls + "/sent-down", "/sent-down: redirected to " + plain + "/shop.sql, which is not https\nhint: "},
		{"sent on to what is no URL", tls + "/sent-astray", "/sent-astray: the server's answer is none: it leads to what is no URL\nhint: "},
		{"sent on for ever", tls + "/in-a-circle", "redirected more than 10 times"},
		{"nobody listens", "https://me:secret@127.0.0.1:1/shop.sql?signature=secret", "connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := fetch(t, c.url)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v, want %s", err, c.want)
			}
			if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrURL) {
				t.Errorf("%v is another fault", err)
			}
		})
	}
}

// TestCertificate refuses a server whose certificate is for another host.
func TestCertificate(t *testing.T) {
	tls, _ := servers(t)
	_, _, err := fetch(t, strings.Replace(tls, "127.0.0.1", "localhost", 1)+"/shop.sql?signature=secret")
	if err == nil || !strings.Contains(err.Error(), "the certificate of the server is not to be trusted: ") || !strings.Contains(err.Error(), "\nhint: SSL_CERT_FILE=") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

// TestStall gives up a server that sends no more.
func TestStall(t *testing.T) {
	tls, _ := servers(t)
	patience := stallPatience
	stallPatience = 50 * time.Millisecond
	defer func() { stallPatience = patience }()
	got, _, err := fetch(t, tls+"/stall.sql")
	if got != text || !errors.Is(err, errStalled) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWrongURLs(t *testing.T) {
	for url, want := range map[string]string{
		"http://example.org/shop.sql?signature=secret": "fetch http://example.org/shop.sql: over http anybody on the way reads the dump",
		"http://me:secret@192.0.2.1/shop.sql":          "fetch http://192.0.2.1/shop.sql: over http",
		"https:///shop.sql":                            "not the URL of a file",
		"https://me:secret@exa mple.org/\x7f?a=secret": "fetch https://...: not the URL of a file",
		"s3://bucket":                                        "that is a whole bucket",
		"s3://me:secret@bucket/shop.sql":                     "not the URL of a bucket",
		"s3://bucket/shop.sql?signature=secret":              "not the URL of a bucket",
		"http://localhost.example.org/shop.sql":              "over http",
		"http://127.0.0.1.example.org:8000/shop.sql#%secret": "not the URL of a file",
	} {
		err := Check(url)
		if !errors.Is(err, ErrURL) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\nhint: ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
	for _, url := range []string{"https://example.org/shop.sql", "http://localhost:8000/x", "http://[::1]:8000/x", "http://127.1.2.3/x", "s3://bucket/shop.sql"} {
		if err := Check(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestNames(t *testing.T) {
	for url, want := range map[string]string{
		"https://me:secret@example.org/dumps/shop.sql.gz?signature=secret#secret": "https://example.org/dumps/shop.sql.gz shop.sql.gz",
		"https://example.org/a%20b.sql":                                           "https://example.org/a%20b.sql a b.sql",
		"https://example.org":                                                     "https://example.org ",
		"https://example.org/..":                                                  "https://example.org/.. ",
		"https://example.org/%2e%2e":                                              "https://example.org/%2e%2e ",
		"https://example.org/a%2f..%2fb.sql":                                      "https://example.org/a%2f..%2fb.sql b.sql",
		"s3://bucket/dumps/shop.sql?endpoint=http://127.0.0.1:9000":               "s3://bucket/dumps/shop.sql?endpoint=http://127.0.0.1:9000 shop.sql",
		"s3://me:secret@bucket/shop.sql":                                          "s3://bucket/shop.sql shop.sql",
	} {
		if got := Redacted(url) + " " + FileName(url); got != want {
			t.Errorf("%s is %q, want %q", url, got, want)
		}
	}
}

func TestBucket(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(srv.Close)
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	store, err := s3.Open(s3.Location{Bucket: "backups", Endpoint: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	for _, key := range []string{"dumps/shop.sql", "shop.sql"} {
		if err := store.Put(t.Context(), key, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, size, err := fetch(t, "s3://backups/"+key+"?endpoint="+srv.URL)
		if err != nil || got != text || size != int64(len(text)) {
			t.Errorf("%q of %d bytes, %v", got, size, err)
		}
	}
	if _, _, err := fetch(t, "s3://backups/nosuch.sql?endpoint="+srv.URL); err == nil || !strings.Contains(err.Error(), "nosuch.sql?endpoint="+srv.URL+": there is no such object\nhint: ") {
		t.Error(err)
	}
}
