package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// certLife is how long a certificate is valid: longer than any instance lives.
const certLife = 10 * 365 * 24 * time.Hour

// writeCert makes a key and a self-signed certificate in runDir, owned by account. The
// server makes RSA keys otherwise, some at every start; P-256 takes a fraction of a
// millisecond.
func writeCert(runDir string, account Account) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make TLS key: %w", err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "ramaria instance"},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(certLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return fmt.Errorf("make TLS certificate: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("make TLS key: %w", err)
	}
	return errors.Join(
		writePEM(KeyPath(runDir), "PRIVATE KEY", der, account),
		writePEM(CertPath(runDir), "CERTIFICATE", cert, account),
	)
}

func writePEM(path, kind string, der []byte, account Account) error {
	return WritePrivate(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), account)
}
