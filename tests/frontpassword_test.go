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

// wire is a client's side of a connection to the door, packet by packet. What fails is in failed.
type wire struct {
	net.Conn
	seq    byte
	failed error
}

// wire connects to the door, and returns its salt.
func (d *frontDoor) wire() (w *wire, salt []byte) {
	d.h.t.Helper()
	conn, err := net.Dial("tcp", d.url.Host)
	if err != nil {
		d.h.t.Fatal(err)
	}
	w = &wire{Conn: conn, failed: conn.SetDeadline(time.Now().Add(patience))}
	_, greeting, _ := bytes.Cut(w.read(), []byte{0}) // behind the version
	if w.failed != nil {
		d.h.t.Fatal(w.failed)
	}
	if id := binary.LittleEndian.Uint32(greeting); id>>31 != 0 {
		d.h.t.Errorf("its number is %d, negative for clients that read it with a sign", id)
	}
	return w, append(bytes.Clone(greeting[4:12]), greeting[31:43]...)
}

func (w *wire) read() []byte {
	h := make([]byte, 4)
	_, err := io.ReadFull(w.Conn, h)
	n := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
	payload := make([]byte, n+3) // so that there is something to look at
	_, err2 := io.ReadFull(w.Conn, payload[:n])
	w.seq = h[3]
	w.failed = errors.Join(w.failed, err, err2)
	return payload
}

func (w *wire) write(payload []byte) {
	w.seq++
	_, err := w.Write(append([]byte{byte(len(payload)), byte(len(payload) >> 8), 0, w.seq}, payload...))
	w.failed = errors.Join(w.failed, err)
}

// command sends a command and returns the first packet of the answer.
func (w *wire) command(payload []byte) []byte {
	w.seq = 0xff
	w.write(payload)
	return w.read()
}

// errorOf is the number of the error that a packet is, 0 if it is none.
func errorOf(packet []byte) uint16 {
	if packet[0] == 0xff {
		return binary.LittleEndian.Uint16(packet[1:])
	}
	return 0
}

// wireLogin is the beginning of a login with a database, by the protocol of 4.1, with plugins.
func wireLogin(more uint32) []byte {
	login := binary.LittleEndian.AppendUint32(nil, 1<<3|1<<9|1<<15|1<<19|more)
	return append(binary.LittleEndian.AppendUint32(login, 1<<24), append([]byte{45}, make([]byte, 23)...)...)
}

// tellPassword logs in as sqlx of Rust does: by an answer of caching_sha2_password that no server expects, and
// then by the password itself, over TLS or encrypted. It returns the number of the error, 0 if there is none.
func (d *frontDoor) tellPassword(database, password string, secure bool) uint16 {
	d.h.t.Helper()
	w, salt := d.wire()
	defer func() { _ = w.Close() }()
	login := wireLogin(0)
	if secure {
		login = wireLogin(1 << 11)
		w.write(login)
		w.Conn = tls.Client(w.Conn, &tls.Config{InsecureSkipVerify: true}) // the door signs its certificate itself
	}
	login = append(append(append(login, d.url.User.Username()...), 0, 32), bytes.Repeat([]byte{7}, 32)...)
	w.write(append(append(append(login, database...), 0), "caching_sha2_password\x00"...))
	if got := w.read(); w.failed == nil && (got[0] != 1 || got[1] != 4) {
		d.h.t.Errorf("a wrong answer gets % x, not a question for the password", got)
	}
	said := append([]byte(password), 0)
	if !secure {
		w.write([]byte{2}) // the key, please
		said = d.encrypted(said, salt, w.read()[1:])
	}
	w.write(said)
	got := w.read()
	if w.failed != nil {
		d.h.t.Fatal(w.failed)
	}
	return errorOf(got)
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
