package front

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // what clients pad with
	"crypto/subtle"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"sync"
)

// wantsKey is a client's wish for the key to encrypt its password with.
const wantsKey = 0x02

// rsaBits is the length of that key, as servers have it.
const rsaBits = 2048

// passwordKey is the door's, made when a client first needs it: that takes a moment.
type passwordKey struct {
	once sync.Once
	key  *rsa.PrivateKey
	pem  []byte
	err  error
}

func (k *passwordKey) get() (*rsa.PrivateKey, []byte, error) {
	k.once.Do(func() {
		if k.key, k.err = rsa.GenerateKey(rand.Reader, rsaBits); k.err != nil {
			return
		}
		var der []byte
		if der, k.err = x509.MarshalPKIXPublicKey(k.key.Public()); k.err == nil {
			k.pem = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		}
	})
	return k.key, k.pem, k.err
}

// tells has the client tell the password itself, as a server does when an answer by caching_sha2_password is
// not the one that it remembers, and reports whether it is the one. sqlx of Rust relies on it: it puts salt and
// hash the wrong way round. Without TLS the password comes encrypted.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html
func (s *session) tells(password string, salt []byte, seq byte) (bool, byte, error) {
	seq++
	if _, err := s.client.Write(packet(seq, []byte{isMore, wantsAll})); err != nil {
		return false, seq, err
	}
	said, seq, err := s.read()
	if err != nil {
		return false, seq, err
	}
	if !s.secure {
		if !bytes.Equal(said, []byte{wantsKey}) {
			return false, seq, refuse(erAccessDenied, stateDenied, "Access denied for user '%s'@'%s' (without TLS, its password must be encrypted)", s.login.user, s.host)
		}
		key, public, err := s.door.key.get()
		if err != nil {
			return false, seq, fmt.Errorf("make a key for passwords: %w", err)
		}
		seq++
		if _, err := s.client.Write(packet(seq, append([]byte{isMore}, public...))); err != nil {
			return false, seq, err
		}
		if said, seq, err = s.read(); err != nil {
			return false, seq, err
		}
		if said, err = rsa.DecryptOAEP(sha1.New(), nil, key, said, nil); err != nil { //nolint:gosec // the protocol's
			return false, seq, nil //nolint:nilerr // it is another password
		}
		for i := range said {
			said[i] ^= salt[i%len(salt)]
		}
	}
	return subtle.ConstantTimeCompare(said, append([]byte(password), 0)) == 1, seq, nil
}
