package tests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
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
	objects gofakes3.Backend
	mode    atomic.Pointer[string]
	server  *httptest.Server // nil while it is stopped
}

// cmdService starts a service of buckets for the rest of the script, with the account in the environment, or has it
// behave otherwise:
//
//	service start|stop|ok|deny|hang|slow|half
//	service lose PREFIX
//	service put KEY FILE
//
// half keeps half of what it is sent, and answers as if it were all; lose removes the last object below a prefix.
func cmdService(ts *testscript.TestScript, neg bool, args []string) {
	loses, puts := len(args) == 2 && args[0] == "lose", len(args) == 3 && args[0] == "put"
	if neg || !loses && !puts && (len(args) != 1 || !slices.Contains([]string{"start", "stop", "ok", "deny", "hang", "slow", "half"}, args[0])) {
		ts.Fatalf("usage: service start|stop|ok|deny|hang|slow|half, service lose PREFIX, service put KEY FILE")
	}
	b := ts.Value(homeKey{}).(*scriptHome)
	if b.service == nil {
		backend := s3mem.New()
		ts.Check(backend.CreateBucket(serviceBucket))
		b.service = &service{at: "127.0.0.1:0", objects: backend, backend: gofakes3.New(backend, gofakes3.WithIntegrityCheck(true)).Server()}
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
	case "lose":
		ts.Check(s.lose(args[1]))
	case "put":
		ts.Check(s.put(args[1], ts.ReadFile(args[2])))
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
	case mode == "half" && r.Method == http.MethodPut:
		if err := halve(r); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	s.backend.ServeHTTP(w, r)
}

// halve cuts the body of a request in half.
func halve(r *http.Request) error {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	b = b[:len(b)/2]
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	r.Header.Set("Content-Length", strconv.Itoa(len(b)))
	r.Header.Del("Content-Md5")
	return nil
}

// put puts an object there.
func (s *service) put(key, content string) error {
	q := httptest.NewRequest(http.MethodPut, "/"+serviceBucket+"/"+key, strings.NewReader(content))
	q.Header.Set("Content-Length", strconv.Itoa(len(content)))
	answer := httptest.NewRecorder()
	if s.backend.ServeHTTP(answer, q); answer.Code != http.StatusOK {
		return fmt.Errorf("put %s: the service answers %d", key, answer.Code)
	}
	return nil
}

// lose removes the last object below a prefix.
func (s *service) lose(prefix string) error {
	list, err := s.objects.ListBucket(serviceBucket, &gofakes3.Prefix{HasPrefix: true, Prefix: prefix}, gofakes3.ListBucketPage{})
	if err != nil {
		return err
	}
	if len(list.Contents) == 0 {
		return fmt.Errorf("there is nothing below %s", prefix)
	}
	_, err = s.objects.DeleteObject(serviceBucket, list.Contents[len(list.Contents)-1].Key)
	return err
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
