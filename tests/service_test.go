package tests

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/rogpeppe/go-internal/testscript"
)

const (
	serviceBucket = "backups"
	serviceKey    = "AKIASCRIPT"
	serviceSecret = "c2NyaXB0LXNlY3JldA"
	// slowCall is how long a call takes of a service that is slow.
	slowCall = 500 * time.Millisecond
)

// service is an S3 service in this process, with one bucket. It stays at its port.
type service struct {
	at      string
	backend http.Handler
	mode    atomic.Pointer[string]
	server  *httptest.Server // nil while it is stopped
}

// cmdService starts a service of buckets for the rest of the script, with the account in the environment, or has it
// behave otherwise:
//
//	service start|stop|ok|deny|hang|slow
func cmdService(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || !slices.Contains([]string{"start", "stop", "ok", "deny", "hang", "slow"}, args[0]) {
		ts.Fatalf("usage: service start|stop|ok|deny|hang|slow")
	}
	b := ts.Value(homeKey{}).(*scriptHome)
	if b.service == nil {
		backend := s3mem.New()
		ts.Check(backend.CreateBucket(serviceBucket))
		b.service = &service{at: "127.0.0.1:0", backend: gofakes3.New(backend, gofakes3.WithIntegrityCheck(true)).Server()}
	}
	s := b.service
	switch args[0] {
	case "start":
		ok := "ok"
		s.mode.Store(&ok)
		ts.Check(s.start())
		ts.Setenv("AWS_ENDPOINT_URL", "http://"+s.at)
		ts.Setenv("AWS_REGION", "us-east-1")
		ts.Setenv("AWS_EC2_METADATA_DISABLED", "true")
		ts.Setenv("AWS_ACCESS_KEY_ID", serviceKey)
		ts.Setenv("AWS_SECRET_ACCESS_KEY", serviceSecret)
	case "stop":
		s.close()
	default:
		s.mode.Store(&args[0])
	}
}

func (s *service) start() error {
	if s.server != nil {
		return errors.New("the service runs already")
	}
	l, err := net.Listen("tcp", s.at)
	if err != nil {
		return err
	}
	s.at = l.Addr().String()
	s.server = &httptest.Server{Listener: l, Config: &http.Server{Handler: s, ReadHeaderTimeout: patience}}
	s.server.Start()
	return nil
}

// ServeHTTP answers those who sign with its key.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch mode := *s.mode.Load(); {
	case mode == "hang":
		for *s.mode.Load() == mode && r.Context().Err() == nil { // which does not end where a body was not read
			time.Sleep(untilPause)
		}
		panic(http.ErrAbortHandler)
	case mode == "deny", !strings.Contains(r.Header.Get("Authorization"), serviceKey+"/"):
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
		return
	case mode == "slow":
		time.Sleep(slowCall)
	}
	s.backend.ServeHTTP(w, r)
}

func (s *service) close() {
	if s.server != nil {
		stopped := "stopped"
		s.mode.Store(&stopped)
		s.server.CloseClientConnections()
		s.server.Close()
		s.server = nil
	}
}
