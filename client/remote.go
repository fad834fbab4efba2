package client

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

// The environment variables with the token of an instance on another machine, and with the path of a file that has it,
// which counts where the first is empty. `ramaria env --format remote` prints the first.
const (
	EnvToken     = "RAMARIA_TOKEN"
	EnvTokenFile = "RAMARIA_TOKEN_FILE"
)

// maxTokenFile is how many bytes a file with a token has at most; a token has some dozens.
const maxTokenFile = 4096

// dialTime is how long a connection to another machine may take, with its TLS.
const dialTime = 15 * time.Second

// remote is an instance on another machine. Its certificate is known by its fingerprint, so that no authority has to sign
// it, and it gets the token only once it has shown that certificate.
type remote struct {
	address string // HOST:PORT
	print   [sha256.Size]byte
	token   string
}

// isURL reports whether where an instance is, is a URL, and not the path of a socket.
func isURL(where string) bool { return strings.Contains(where, "://") }

// parseRemote reads https://HOST:PORT#sha256=FINGERPRINT.
func parseRemote(where, token string) (*remote, error) {
	u, err := url.Parse(where)
	if err != nil {
		return nil, errors.New("it is not a URL") // without what it says: somebody may have put a password there
	}
	const hint = "\nhint: ramaria env --format remote, on the instance's machine, has the right " + EnvVar + " and " + EnvToken
	switch {
	case u.Scheme != "https":
		return nil, fmt.Errorf("%s: others on the way could read the token: only https is spoken"+hint, u.Scheme)
	case u.Hostname() == "" || u.Port() == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "":
		return nil, errors.New("it is not https://HOST:PORT#sha256=FINGERPRINT" + hint)
	}
	digits, found := strings.CutPrefix(u.Fragment, "sha256=")
	if !found {
		return nil, errors.New("the fingerprint is missing by which the instance is known, #sha256=..." + hint)
	}
	r := &remote{address: net.JoinHostPort(u.Hostname(), u.Port()), token: strings.TrimSpace(token)}
	sum, err := hex.DecodeString(digits)
	if err != nil || copy(r.print[:], sum) != len(r.print) || len(sum) != len(r.print) {
		return nil, errors.New("its fingerprint is not 64 hexadecimal digits" + hint)
	}
	switch {
	case r.token == "":
		return nil, errors.New("the token is missing" + hint)
	case strings.ContainsFunc(r.token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return nil, errors.New("the token is not one: it has characters that none has" + hint)
	}
	return r, nil
}

// Token is the token of an instance on another machine that the variable RAMARIA_TOKEN has, or the file that RAMARIA_TOKEN_FILE
// names.
func Token() (string, error) {
	token, err := tokenFromEnv()
	return strings.TrimSpace(token), err
}

func tokenFromEnv() (string, error) {
	token := os.Getenv(EnvToken)
	if path := os.Getenv(EnvTokenFile); token == "" && path != "" {
		var err error
		if token, err = readToken(path); err != nil {
			return "", fmt.Errorf("read token: %w", err)
		}
	}
	if strings.TrimSpace(token) == "" {
		return "", fmt.Errorf("the token is missing: neither %s nor %s is set\nhint: ramaria env --format remote, on the instance's machine, has it", EnvToken, EnvTokenFile)
	}
	return token, nil
}

// readToken reads the token in a file. One that never ends, such as a device, would otherwise take all memory.
func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxTokenFile:
		return "", fmt.Errorf("%s: it has more than %d bytes, and is no token", path, maxTokenFile)
	case strings.TrimSpace(string(b)) == "":
		return "", fmt.Errorf("%s: it is empty", path)
	}
	return string(b), nil
}

// dial connects, and makes sure that it is the instance. Only then anything is sent.
func (r *remote) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	d := tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS13,
		// Nobody has signed the certificate, and its names and dates are for the form: the fingerprint says whose it is, and
		// TLS has proved by then that the other end has its key.
		InsecureSkipVerify: true, // #nosec G402 -- VerifyConnection does
		VerifyConnection:   func(s tls.ConnectionState) error { return r.verify(s.PeerCertificates) },
	}}
	c, err := d.DialContext(ctx, "tcp", r.address)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%w: nothing listens there now\nhint: ramaria status, on the instance's machine", ErrNoServer)
	}
	return c, err
}

func (r *remote) verify(shown []*x509.Certificate) error {
	if len(shown) > 0 {
		if sum := sha256.Sum256(shown[0].Raw); subtle.ConstantTimeCompare(sum[:], r.print[:]) == 1 {
			return nil
		}
	}
	return fmt.Errorf("its certificate has another fingerprint: it is another instance, or somebody is between it and you\nhint: an instance that was made again has new ones; ramaria env --format remote, on its machine, has the right %s", EnvVar)
}

// sign puts the token into a request.
func (r *remote) sign(req *http.Request) { req.Header.Set("Authorization", "Bearer "+r.token) }
