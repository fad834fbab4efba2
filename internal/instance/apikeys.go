package instance

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/selfsigned"
)

// APIListenOff is the value of --api-listen that closes the API to other machines. A Spec has "" for it.
const APIListenOff = "off"

// keysName is the file with what clients on other machines and the API know each other by.
const keysName = "api.json"

// APIKeys is what api.json says. Only the instance's user can read it: key and token are secrets.
type APIKeys struct {
	Format int `json:"format"`
	// Certificate and Key are those that the API shows over TLS, in PEM.
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	// Token is what clients show.
	Token string `json:"token"`
}

// TLS is the certificate with its key.
func (k *APIKeys) TLS() (tls.Certificate, error) { return selfsigned.Parse(k.Certificate, k.Key) }

func (r *Record) keysPath() string { return filepath.Join(r.Dir, keysName) }

// APIKeys returns what the supervisor has made, nil if it has made nothing yet.
func (r *Record) APIKeys() (*APIKeys, error) {
	var k APIKeys
	err := ReadJSON(r.keysPath(), &k)
	if missing(err) {
		return nil, nil
	}
	switch {
	case err == nil && k.Format != Format:
		return nil, fmt.Errorf("read %s: its format is %d, and this ramaria knows %d\nhint: use the ramaria that wrote it", r.keysPath(), k.Format, Format)
	case err == nil && k.Token == "":
		err = fmt.Errorf("read %s: %w: it has no token", r.keysPath(), errDamaged)
	}
	if errors.Is(err, errDamaged) {
		err = fmt.Errorf("%w\nhint: rm %s, and the next start makes another, which clients must be told", err, r.keysPath())
	}
	return &k, err
}

// MakeAPIKeys returns what APIKeys does, having made it if it is not there. It is for the supervisor.
func (r *Record) MakeAPIKeys() (*APIKeys, error) {
	k, err := r.APIKeys()
	if err != nil || k != nil {
		return k, err
	}
	c, err := selfsigned.New("ramaria " + r.Name)
	if err != nil {
		return nil, err
	}
	k = &APIKeys{Format: Format, Token: rand.Text()}
	if k.Certificate, k.Key, err = selfsigned.Text(c); err != nil {
		return nil, err
	}
	return k, WriteJSON(r.keysPath(), k)
}

// RemoteAPI is how clients on other machines find the API, as their RAMARIA_API has it; "" if it is not open to them, or was
// not yet.
func (r *Record) RemoteAPI() (string, *APIKeys, error) {
	if r.Spec.APIListen == "" {
		return "", nil, nil
	}
	k, err := r.APIKeys()
	if err != nil || k == nil {
		return "", nil, err
	}
	c, err := k.TLS()
	if err != nil {
		return "", nil, err
	}
	host, port, err := net.SplitHostPort(r.Spec.APIListen)
	if err != nil {
		return "", nil, err
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() { // at all addresses: clients know the machine by its name
		if host, err = os.Hostname(); err != nil {
			return "", nil, err
		}
	}
	return "https://" + net.JoinHostPort(host, port) + "#sha256=" + selfsigned.Fingerprint(c), k, nil
}

// ParseAPIListen reads a value of --api-listen, and returns it as a Spec has it.
func ParseAPIListen(text string) (string, error) {
	if text == "" || text == APIListenOff {
		return "", nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", fmt.Errorf("it is not ADDRESS:PORT: %s", strings.TrimPrefix(err.Error(), "address "+text+": "))
	}
	if host != "" && host != "localhost" && net.ParseIP(host) == nil {
		return "", fmt.Errorf("%s is not an address of this machine, such as 192.168.1.5; 0.0.0.0 means all", host)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", errors.New("ports are 1 to 65535")
	}
	return net.JoinHostPort(host, port), nil
}
