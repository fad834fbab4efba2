package tests

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"time"
)

// tellPassword logs in as sqlx of Rust does: by an answer of caching_sha2_password that no server expects, and
// then by the password itself, encrypted. It returns the number of the error, 0 if there is none.
func (d *frontDoor) tellPassword(database, password string) uint16 {
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
		payload := make([]byte, int(h[0])|int(h[1])<<8|int(h[2])<<16)
		_, err2 := io.ReadFull(conn, payload)
		seq = h[3]
		failed = errors.Join(failed, err, err2)
		return append(payload, make([]byte, 3)...) // so that there is something to look at
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
	const can = 1<<3 | 1<<9 | 1<<15 | 1<<19 // a database, the protocol of 4.1, with plugins
	login := binary.LittleEndian.AppendUint32(nil, can)
	login = append(binary.LittleEndian.AppendUint32(login, 1<<24), append([]byte{45}, make([]byte, 23)...)...)
	login = append(append(append(login, d.url.User.Username()...), 0, 32), bytes.Repeat([]byte{7}, 32)...)
	write(append(append(append(login, database...), 0), "caching_sha2_password\x00"...))
	if got := read(); failed == nil && (got[0] != 1 || got[1] != 4) {
		d.h.t.Errorf("a wrong answer gets % x, not a question for the password", got)
	}
	write([]byte{2}) // the key, please
	block, _ := pem.Decode(read()[1:])
	if block == nil {
		d.h.t.Fatalf("no key: %v", failed)
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		d.h.t.Fatal(err)
	}
	plain := append([]byte(password), 0)
	for i := range plain {
		plain[i] ^= salt[i%len(salt)]
	}
	secret, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, key.(*rsa.PublicKey), plain, nil)
	if err != nil {
		d.h.t.Fatal(err)
	}
	write(secret)
	got := read()
	if failed != nil {
		d.h.t.Fatal(failed)
	}
	if got[0] == 0xff {
		return binary.LittleEndian.Uint16(got[1:])
	}
	return 0
}
