package tests

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"time"
)

// tellPassword logs in as sqlx of Rust does: by an answer of caching_sha2_password that no server expects, and
// then by the password itself, over TLS or encrypted. It returns the number of the error, 0 if there is none.
func (d *frontDoor) tellPassword(database, password string, secure bool) uint16 {
	d.h.t.Helper()
	conn, err := net.Dial("tcp", d.url.Host)
	if err != nil {
		d.h.t.Fatal(err)
	}
	defer conn.Close()
	failed := conn.SetDeadline(time.Now().Add(patience))
	var seq byte
	read := func() []byte {
		h := make([]byte, 4)
		_, err := io.ReadFull(conn, h)
		n := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
		payload := make([]byte, n+3) // so that there is something to look at
		_, err2 := io.ReadFull(conn, payload[:n])
		seq = h[3]
		failed = errors.Join(failed, err, err2)
		return payload
	}
	write := func(payload []byte) {
		_, err := conn.Write(append([]byte{byte(len(payload)), byte(len(payload) >> 8), 0, seq + 1}, payload...))
		failed = errors.Join(failed, err)
	}
	_, greeting, _ := bytes.Cut(read(), []byte{0}) // behind the version
	if id := binary.LittleEndian.Uint32(greeting); id>>31 != 0 {
		d.h.t.Errorf("its number is %d, negative for clients that read it with a sign", id)
	}
	salt := append(bytes.Clone(greeting[4:12]), greeting[31:43]...)
	can := uint32(1<<3 | 1<<9 | 1<<15 | 1<<19) // a database, the protocol of 4.1, with plugins
	if secure {
		can |= 1 << 11
	}
	login := binary.LittleEndian.AppendUint32(nil, can)
	login = append(binary.LittleEndian.AppendUint32(login, 1<<24), append([]byte{45}, make([]byte, 23)...)...)
	if secure {
		write(login)
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // the door signs its certificate itself
		seq++
	}
	login = append(append(append(login, d.url.User.Username()...), 0, 32), bytes.Repeat([]byte{7}, 32)...)
	write(append(append(append(login, database...), 0), "caching_sha2_password\x00"...))
	if got := read(); failed == nil && (got[0] != 1 || got[1] != 4) {
		d.h.t.Errorf("a wrong answer gets % x, not a question for the password", got)
	}
	said := append([]byte(password), 0)
	if !secure {
		write([]byte{2}) // the key, please
		said = d.encrypted(said, salt, read()[1:])
	}
	write(said)
	got := read()
	if failed != nil {
		d.h.t.Fatal(failed)
	}
	if got[0] == 0xff {
		return binary.LittleEndian.Uint16(got[1:])
	}
	return 0
}

// encrypted is a password as clients without TLS tell it, by the key that a server has given.
func (d *frontDoor) encrypted(password, salt, key []byte) []byte {
	d.h.t.Helper()
	block, _ := pem.Decode(key)
	if block == nil {
		d.h.t.Fatalf("%q is no key", key)
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		d.h.t.Fatal(err)
	}
	for i := range password {
		password[i] ^= salt[i%len(salt)]
	}
	secret, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, public.(*rsa.PublicKey), password, nil)
	if err != nil {
		d.h.t.Fatal(err)
	}
	return secret
}
