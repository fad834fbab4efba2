package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/bucket"
	"github.com/ramaria-db/ramaria/internal/bucket/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQ"

// service is an S3 service in this process; where says what the test gives in --archive.
func service(t *testing.T) (where string) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(gofakes3.New(backend, gofakes3.WithIntegrityCheck(true)).Server())
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		srv.CloseClientConnections()
		srv.Close()
	})
	account(t)
	return "s3://backups/shop/prod?region=eu-central-1&endpoint=" + srv.URL
}

// account puts credentials into the environment, and nothing else of this machine's.
func account(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "MINIO_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
}

func open(t *testing.T, where string) *Store {
	t.Helper()
	l, err := ParseURL(where)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestMirror mirrors to a service and restores from it, with a base backup of more than 64 MB.
func TestMirror(t *testing.T) {
	s := open(t, service(t))
	local := archive.OSDisk{Dir: t.TempDir()}
	id := archive.LogID{Archive: [16]byte{7}, Epoch: 1}
	log, err := archive.CreateLog(local, id)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	m := &bucket.Mirror{
		Archive: id.Archive, Local: local, Store: s, Lasts: func(uint32) archive.Place { return log.Lasts() },
		Needs: func([]byte) (bucket.Needs, error) { return bucket.Needs{Files: []string{"base/000001.pack"}}, nil },
	}
	if err := m.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	defer func() { stop(); <-done }()
	noise := rand.NewChaCha8([32]byte{})
	event := make([]byte, 1<<20)
	for range 30 {
		_, _ = noise.Read(event)
		if err := log.Append(log.End(), event[:1+noise.Uint64()%(1<<20)]); err != nil {
			t.Fatal(err)
		}
		m.Notify()
	}
	pack := make([]byte, 70<<20)
	_, _ = noise.Read(pack)
	if err := os.Mkdir(filepath.Join(local.Dir, "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct {
		name string
		b    []byte
	}{{"base/000001.pack", pack}, {"manifest.json", []byte("it")}} { // the manifest last
		if err := os.WriteFile(filepath.Join(local.Dir, f.name), f.b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Append(log.End(), event[:100]); err != nil {
		t.Fatal(err)
	}
	for st := m.Status(); st.Manifest.IsZero() || st.Uploaded != log.End(); st = m.Status() {
		if st.Err != nil {
			t.Fatal(st.Err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	to := archive.OSDisk{Dir: t.TempDir()}
	if got, err := (&bucket.Download{Store: s, To: to}).Run(t.Context()); err != nil || got != id.Archive {
		t.Fatal(got, err)
	}
	if b, err := os.ReadFile(filepath.Join(to.Dir, "base/000001.pack")); err != nil || !bytes.Equal(b, pack) {
		t.Errorf("the file differs: %v", err)
	}
	from, end, err := archive.ReadLog(to, id, archive.Discard)
	if err != nil || from != (archive.Position{}) || end != log.End() {
		t.Errorf("the log goes from %s to %s, %v", from, end, err)
	}
}

// TestStore: it does what a mirror expects of a store.
func TestStore(t *testing.T) { storetest.Run(t, open(t, service(t))) }

// TestErrorsOfServices: they say what to do, and nothing of credentials.
func TestErrorsOfServices(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // a proxy that tells all
		w.WriteHeader(http.StatusForbidden)
		_ = r.Header.Write(w)
	}))
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Error><Code>SignatureDoesNotMatch</Code><Message>%s</Message></Error>", r.Header.Get("Authorization"))
	}))
	gone := httptest.NewServer(http.NotFoundHandler())
	for _, srv := range []*httptest.Server{echo, denied, gone} {
		t.Cleanup(srv.Close)
	}
	gone.Close()
	where := service(t)
	for name, tc := range map[string]struct{ where, want string }{
		"no bucket":      {strings.Replace(where, "backups", "other", 1), "the bucket does not exist\nhint: "},
		"a proxy":        {"s3://backups/x?region=a&endpoint=" + echo.URL, "403"},
		"denied":         {"s3://backups/x?region=a&endpoint=" + denied.URL, "SignatureDoesNotMatch (403)"},
		"nothing there":  {"s3://backups/x?region=a&endpoint=" + gone.URL, "connection refused"},
		"no such region": {"s3://backups/x?endpoint=" + gone.URL, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, tc.where)
			_, get := s.Get(t.Context(), "a")
			errs := []error{get, s.Put(t.Context(), "a", []byte("b")), s.Remove(t.Context(), "a")}
			for _, err := range s.List(t.Context(), "", "") {
				errs = append(errs, err)
			}
			for _, err := range errs {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v", err)
				}
				if s := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(s, secret) || strings.Contains(s, "AKIA") || strings.Contains(s, "Signature=") {
					t.Errorf("it tells credentials: %s", s)
				}
			}
		})
	}
	t.Run("no credentials", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		t.Setenv("HOME", t.TempDir())
		t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
		_, err := open(t, "s3://backups/x?region=a&endpoint="+denied.URL).Get(t.Context(), "a")
		if err == nil || !strings.Contains(err.Error(), "no credentials were found\nhint: ") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := open(t, where).Put(ctx, "a", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestHang: a service that does not answer is given up soon, whatever it is asked.
func TestHang(t *testing.T) {
	was := answerPatience
	answerPatience = 200 * time.Millisecond
	defer func() { answerPatience = was }()
	account(t)
	let := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-let }))
	defer func() { close(let); srv.CloseClientConnections(); srv.Close() }()
	s := open(t, "s3://backups/x?region=a&endpoint="+srv.URL)
	began := time.Now()
	_, err := s.Get(t.Context(), "a")
	errs := []error{err, s.Put(t.Context(), "a", []byte("b")), s.Remove(t.Context(), "a")}
	for _, err := range s.List(t.Context(), "", "") {
		errs = append(errs, err)
	}
	for _, err := range errs {
		if !errors.Is(err, errSlow) {
			t.Errorf("got %v", err)
		}
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("it took %s", took)
	}
}

// TestCredentialsFile takes them from there.
func TestCredentialsFile(t *testing.T) {
	var auth string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header.Get("Authorization")
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", "1")
		_, _ = w.Write([]byte("b"))
	}))
	defer srv.Close()
	account(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("AWS_ENDPOINT_URL", srv.URL)
	if err := os.Mkdir(filepath.Join(home, ".aws"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".aws/credentials"), []byte("[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(t, "s3://backups/x?region=eu-central-1").Put(t.Context(), "a", []byte("b")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(auth, "AKIAFILE/") || !strings.Contains(auth, "/eu-central-1/s3/") {
		t.Errorf("it was signed as %q", auth)
	}
}

// TestParseURL: what it reads is what String writes, and its errors do not repeat what may hold a
// password.
func TestParseURL(t *testing.T) {
	account(t)
	for in, want := range map[string]Location{
		"s3://b":         {Bucket: "b"},
		"s3://b/":        {Bucket: "b"},
		"s3://b/p":       {Bucket: "b", Prefix: "p"},
		"s3://b/p/q r/":  {Bucket: "b", Prefix: "p/q r"},
		"s3://b.c/p":     {Bucket: "b.c", Prefix: "p"},
		"s3://b?region=": {Bucket: "b"},
		"s3://b/p?endpoint=https://s3.example.net:9000&region=eu": {Bucket: "b", Prefix: "p", Endpoint: "https://s3.example.net:9000", Region: "eu"},
	} {
		got, err := ParseURL(in)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
		if again, err := ParseURL(got.String()); err != nil || again != got {
			t.Errorf("%s: %s: %+v, %v", in, got, again, err)
		}
	}
	for _, in := range []string{
		"", "b/p", "http://b/p", "s3:///p", "s3://KEY:" + secret + "@b/p", "s3://b:9000/p", "s3://b/p#" + secret, "s3://b/p?key=" + secret,
		"s3://b/p?endpoint=example.net", "s3://b/p?endpoint=https://KEY:" + secret + "@example.net", "s3://b/p?endpoint=https://example.net/x?y=" + secret,
		"s3://b/%zz" + secret, "s3://b/p?endpoint=ftp://example.net",
	} {
		_, err := ParseURL(in)
		if err == nil || !strings.Contains(err.Error(), "hint: ") || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", in, err)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", "https://KEY:"+secret+"@example.net")
	if _, err := ParseURL("s3://b/p"); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
}
