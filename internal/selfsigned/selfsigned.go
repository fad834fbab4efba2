// Package selfsigned makes TLS certificates that nobody has signed. Who connects knows such a certificate by its
// fingerprint, and by nothing else: names and dates in it are for the form.
package selfsigned

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// certTime is how long a certificate is good, from a day ago: clocks differ.
const certTime, certBefore = 10 * 365 * 24 * time.Hour, 24 * time.Hour

// Blocks of PEM.
const certBlock, keyBlock = "CERTIFICATE", "PRIVATE KEY"

// New makes a key and a certificate for it, whose subject is name.
func New(name string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a TLS key: %w", err)
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-certBefore), NotAfter: now.Add(certTime),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, // members of clusters are both
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a TLS certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// Fingerprint is the SHA-256 of a certificate, in hexadecimal digits.
func Fingerprint(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	return hex.EncodeToString(sum[:])
}

// Text writes certificate and key as PEM, for Parse.
func Text(c tls.Certificate) (cert, key string, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return "", "", fmt.Errorf("write a TLS key: %w", err)
	}
	text := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return text(certBlock, c.Certificate[0]), text(keyBlock, der), nil
}

// Parse reads what Text wrote.
func Parse(cert, key string) (tls.Certificate, error) {
	c, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err == nil && len(c.Certificate) != 1 {
		err = errors.New("it is not one certificate")
	}
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read a TLS certificate: %w", err)
	}
	return c, nil
}
