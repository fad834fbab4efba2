package server

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// rsaBits is what MySQL makes itself.
const rsaBits = 2048

// WriteKeys makes the keys in runDir that the option file of a start names. Those that
// take long to make are kept in the directory kept, which only its owner can enter, and
// used for all servers of one user: to have one is to read what clients without TLS send
// to log in, over loopback.
func (s *Server) WriteKeys(kept, runDir string, account Account) error {
	if s.uses(factCert) {
		if err := writeCert(runDir, account); err != nil {
			return err
		}
	}
	if !s.uses(factRSAKey) {
		return nil
	}
	key, err := keptRSA(kept)
	if err != nil {
		return err
	}
	return errors.Join(
		writePEM(rsaKeyPath(runDir), "PRIVATE KEY", key.private, account),
		writePEM(rsaPublicPath(runDir), "PUBLIC KEY", key.public, account),
	)
}

// uses reports whether the option file of an instance has a row with this fact.
func (s *Server) uses(fact string) bool {
	for _, r := range s.Family().profile {
		if r.value == fact && r.applies(s.Version, Run, "", InRAM, false) {
			return true
		}
	}
	return false
}

// pair is an RSA key, in DER: PKCS #8 and PKIX.
type pair struct{ private, public []byte }

// keptRSA returns the key of dir, and makes it if it does not exist: 0.1 s. Of two processes
// that do so at once the last one's stays, and both are good.
func keptRSA(dir string) (pair, error) {
	path := filepath.Join(dir, "rsa.pem")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return pair{}, fmt.Errorf("read RSA key: %w", err)
	}
	if key := parseRSA(text); key != nil {
		return pairOf(key)
	}
	key, err := rsa.GenerateKey(rand.Reader, rsaBits)
	if err != nil {
		return pair{}, fmt.Errorf("make RSA key: %w", err)
	}
	p, err := pairOf(key)
	if err != nil {
		return pair{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return pair{}, fmt.Errorf("keep RSA key: %w", err)
	}
	part := path + "." + dbconn.NewPassword()
	err = writePEM(part, "PRIVATE KEY", p.private, Account{})
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		_ = os.Remove(part) // it may not be there
		return pair{}, fmt.Errorf("keep RSA key: %w", err)
	}
	return p, nil
}

func pairOf(key *rsa.PrivateKey) (p pair, err error) {
	if p.private, err = x509.MarshalPKCS8PrivateKey(key); err == nil {
		p.public, err = x509.MarshalPKIXPublicKey(&key.PublicKey)
	}
	if err != nil {
		err = fmt.Errorf("make RSA key: %w", err)
	}
	return p, err
}

// parseRSA reads a private key in PEM; nil for anything else.
func parseRSA(text []byte) *rsa.PrivateKey {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil
	}
	key, _ := parsed.(*rsa.PrivateKey)
	return key
}
