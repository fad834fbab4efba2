package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// certLife is how long a certificate is valid: longer than any instance lives.
const certLife = 10 * 365 * 24 * time.Hour

// WriteCert makes a key and a self-signed certificate in runDir, owned by
// account, for servers that NeedsCert. MariaDB 11.4 and later make an RSA key at
// every start otherwise; P-256 takes a fraction of a millisecond.
func WriteCert(runDir string, account Account) error {
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
	for _, f := range []struct {
		path, kind string
		der        []byte
	}{
		{KeyPath(runDir), "PRIVATE KEY", der}, {CertPath(runDir), "CERTIFICATE", cert},
	} {
		if err := WritePrivate(f.path, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der}), account); err != nil {
			return err
		}
	}
	return nil
}
