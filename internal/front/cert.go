package front

import (
	"crypto/sha256"
	"crypto/tls"

	"github.com/ramaria-db/ramaria/internal/selfsigned"
)

// selfSigned makes a certificate that lives as long as the door, and its fingerprint.
func selfSigned() (*tls.Config, []byte, error) {
	c, err := selfsigned.New("ramaria front")
	if err != nil {
		return nil, nil, err
	}
	sum := sha256.Sum256(c.Certificate[0])
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{c}}, sum[:], nil
}
