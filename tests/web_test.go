package tests

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// webUser and webPassword let one in where the server asks.
const webUser, webPassword = "me", "hush"

// cmdWeb starts web servers of the script's files for the rest of the script: over TLS at $WEB, whose authority SSL_CERT_FILE
// names, and without at $PLAINWEB.
//
//	web start
//
// Below /short/ a file has half of what is said, below /private/ a password, below /sent-on/ another place, below /sent-down/ one
// without TLS.
func cmdWeb(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || args[0] != "start" {
		ts.Fatalf("usage: web start")
	}
	dir := ts.Getenv("WORK")
	files := http.FileServer(http.Dir(dir))
	var plain *httptest.Server
	handler := http.NewServeMux()
	handler.Handle("/", files)
	handler.HandleFunc("/short/", func(w http.ResponseWriter, r *http.Request) {
		b, err := os.ReadFile(ts.MkAbs(strings.TrimPrefix(r.URL.Path, "/short/")))
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		_, _ = w.Write(b[:len(b)/2]) // the client sees what becomes of it
	})
	handler.HandleFunc("/private/", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != webUser || password != webPassword {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.StripPrefix("/private", files).ServeHTTP(w, r)
	})
	handler.HandleFunc("/sent-on/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.TrimPrefix(r.URL.Path, "/sent-on"), http.StatusFound)
	})
	handler.HandleFunc("/sent-down/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+strings.TrimPrefix(r.URL.Path, "/sent-down"), http.StatusFound)
	})
	plain = httptest.NewServer(handler)
	safe := httptest.NewTLSServer(handler)
	ts.Defer(plain.Close)
	ts.Defer(safe.Close)
	ca := ts.MkAbs("ca.pem")
	ts.Check(os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: safe.Certificate().Raw}), 0o600))
	ts.Setenv("SSL_CERT_FILE", ca)
	ts.Setenv("WEB", safe.URL)
	ts.Setenv("WEBHOST", strings.TrimPrefix(safe.URL, "https://"))
	ts.Setenv("PLAINWEB", plain.URL)
}
