package s3

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// liar is a service that changes what it is sent before it keeps that, and answers as if it had not.
func liar(t *testing.T, change func([]byte) []byte) *Store {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	service := gofakes3.New(backend, gofakes3.WithIntegrityCheck(false)).Server()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			b = change(b)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
			r.Header.Set("Content-Length", strconv.Itoa(len(b)))
			r.Header.Del("Content-Md5")
		}
		service.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		srv.CloseClientConnections()
		srv.Close()
	})
	account(t)
	return open(t, "s3://backups/shop?region=eu-central-1&endpoint="+srv.URL)
}

// TestServiceKeepsHalf: a service that answers 200 and keeps half of an object, or other bytes, has not taken it.
func TestServiceKeepsHalf(t *testing.T) {
	object := []byte(strings.Repeat("twelve bytes", 1000))
	var change func([]byte) []byte
	s := liar(t, func(b []byte) []byte { return change(b) })
	put := func(f func([]byte) []byte, want string) {
		t.Helper()
		change = f
		err := s.Put(t.Context(), "a", object)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v; want %q", err, want)
		}
	}
	put(func(b []byte) []byte { return b[:len(b)/2] }, "put s3://backups/shop/a: the service said that it has taken the object, and has 6000 bytes of 12000")
	put(func([]byte) []byte { return nil }, "has 0 bytes of 12000")
	put(func(b []byte) []byte { return b }, "")
	put(func(b []byte) []byte { b[5000] ^= 4; return b }, "has other bytes, of the ETag ")
	put(func(b []byte) []byte { return b }, "")
}
