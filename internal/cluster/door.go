package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/selfsigned"
)

// Paths of what is asked at a door. All who have the cluster's certificate may ask.
const (
	PathMember = "/v1/member" // GET: what a member is
	PathNodes  = "/v1/nodes"  // PUT: a change of who the members are
	PathData   = "/v1/data"   // GET: the data of a member, as a saved image is written
	PathWord   = "/v1/word"   // PUT: what a donor of Galera says to a joiner
	PathLog    = "/v1/log"    // GET, with the GTIDs as its query: statements that do what transactions of a group did
)

// Word is what a donor of Galera says to a joiner.
type Word struct {
	Text string `json:"text"`
}

// askPatience is how long a door may take to answer.
const askPatience = 5 * time.Second

// stallPatience is how long a copy may stand still.
const stallPatience = 2 * time.Minute

// mostAnswer is how long an answer may be, in bytes.
const mostAnswer = 1 << 20

// TLS is how doors are opened, and asked: both sides show the cluster's certificate.
func (c *Cluster) TLS() (*tls.Config, error) {
	cert, err := selfsigned.Parse(c.Cert, c.Key)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	same := func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) != 1 || !bytes.Equal(s.PeerCertificates[0].Raw, cert.Certificate[0]) {
			return errors.New("the other side has not the certificate of the cluster")
		}
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAnyClientCert,
		InsecureSkipVerify: true, VerifyConnection: same, // #nosec G402 -- the one certificate is known, and names and dates in it are for the form
	}, nil
}

// ErrUnreached says that a machine did not answer.
var ErrUnreached = errors.New("it is not reached")

// StatusError is an error that a door has answered with.
type StatusError struct {
	Status int
	Text   string
}

func (e *StatusError) Error() string { return e.Text }

// Ask asks at the door at address. in is sent, and the answer read into out, as JSON, unless they are nil.
func (c *Cluster) Ask(ctx context.Context, address, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	body, err := c.ask(ctx, address, method, path, in)
	if err != nil {
		return err
	}
	defer body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(body, mostAnswer)).Decode(out); err != nil {
		return fmt.Errorf("read the answer of %s: %w", address, err)
	}
	return nil
}

// Data is the data of the member whose door is at address, as a saved image is written. The caller must close it.
func (c *Cluster) Data(ctx context.Context, address string) (io.ReadCloser, error) {
	return c.ask(ctx, address, http.MethodGet, PathData, nil)
}

// Transactions are statements that do what transactions did that the log of the member has whose door is at address. The caller
// must close them.
func (c *Cluster) Transactions(ctx context.Context, address, gtids string) (io.ReadCloser, error) {
	return c.ask(ctx, address, http.MethodGet, PathLog+"?"+url.QueryEscape(gtids), nil)
}

func (c *Cluster) ask(ctx context.Context, address, method, path string, in any) (_ io.ReadCloser, err error) {
	config, err := c.TLS()
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	q, err := http.NewRequestWithContext(ctx, method, "https://"+address+path, body)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		TLSClientConfig: config, DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: askPatience}).DialContext,
		TLSHandshakeTimeout: askPatience, ResponseHeaderTimeout: stallPatience,
	}
	answer, err := (&http.Client{Transport: transport}).Do(q)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w: %w", address, ErrUnreached, err)
	}
	if answer.StatusCode < http.StatusMultipleChoices {
		return answer.Body, nil
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxError))
	return nil, fmt.Errorf("ask %s: %w", address, &StatusError{answer.StatusCode, strings.TrimSpace(string(text))})
}

// maxError is how long the text of an error may be, in bytes.
const maxError = 4096
