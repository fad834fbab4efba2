package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

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

func open(t *testing.T, where string) Store {
	t.Helper()
	l, err := ParseURL(where)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.(*s3).idle)
	return s
}

// TestS3 mirrors to a service and restores from it, with a base backup of more than 64 MB.
func TestS3(t *testing.T) {
	s := open(t, service(t))
	l := newLocal(t)
	m := l.mirror(s)
	if err := m.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	start(t, m)
	for range 30 {
		l.append(1 + l.rng.IntN(1<<20))
		m.Notify()
	}
	l.base(map[string][]byte{"base/000001.pack": pack(l, 70<<20), "base/000001.index": pack(l, 100)})
	published(t, l, s)
	l.append(200)
	caught(t, m)
	restored(t, l, s)
	if err := m.Status().Err; err != nil {
		t.Error(err)
	}
}

// TestStores: what the memory of the tests does, the service does.
func TestStores(t *testing.T) {
	for name, s := range map[string]Store{"memory": newMemory(), "s3": open(t, service(t))} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if _, err := s.Get(ctx, "a"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("get what is not there: %v", err)
			}
			if err := s.Remove(ctx, "a"); err != nil {
				t.Errorf("remove what is not there: %v", err)
			}
			for i := range 1100 { // more than a page
				if err := s.Put(ctx, fmt.Sprintf("log/%04d", i), []byte{byte(i)}); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"logs", "a/b", "empty"} {
				if err := s.Put(ctx, name, nil); err != nil {
					t.Fatal(err)
				}
			}
			if b, err := s.Get(ctx, "empty"); err != nil || len(b) != 0 {
				t.Errorf("got %v, %v", b, err)
			}
			if err := s.Put(ctx, "log/0007", []byte("again")); err != nil {
				t.Fatal(err)
			}
			if b, err := s.Get(ctx, "log/0007"); err != nil || string(b) != "again" {
				t.Errorf("got %q, %v", b, err)
			}
			list := func(prefix, after string) (names []string) {
				for o, err := range s.List(ctx, prefix, after) {
					if err != nil {
						t.Fatal(err)
					}
					names = append(names, fmt.Sprint(o.Name, " ", o.Size))
				}
				return names
			}
			if got := list("log/", ""); len(got) != 1100 || got[0] != "log/0000 1" || got[7] != "log/0007 5" || got[1099] != "log/1099 1" {
				t.Errorf("%d objects, the last %s", len(got), got[len(got)-1])
			}
			if got := list("log/", "log/1097"); len(got) != 2 || got[0] != "log/1098 1" {
				t.Errorf("%v", got)
			}
			if got := list("", "log/2"); len(got) != 1 || got[0] != "logs 0" {
				t.Errorf("%v", got)
			}
			for o, err := range s.List(ctx, "", "") { // and no more
				if err != nil || o.Name != "a/b" {
					t.Error(o, err)
				}
				break
			}
			if err := s.Remove(ctx, "log/0007"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(ctx, "log/0007"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("get what was removed: %v", err)
			}
		})
	}
}

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

// TestCredentialsFile takes them from there.
func TestCredentialsFile(t *testing.T) {
	var auth string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { auth = r.Header.Get("Authorization") }))
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
