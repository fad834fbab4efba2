package front

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // what mysql_native_password is made of
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"

	"filippo.io/edwards25519"
)

// saltBytes is how many random bytes a login is made with; saltEd25519 that of client_ed25519.
const (
	saltBytes   = 20
	saltEd25519 = 32
)

// newSalt has no zero byte, which would end it, and none above 127, which some clients take for text.
func newSalt(n int) []byte {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		panic(err) // crypto/rand.Read never fails on Linux
	}
	for i := range b {
		b[i] = b[i]&0x7f | 1
	}
	return b
}

// way is how a client shows that it knows a password without telling it.
type way struct {
	salt int
	// knows reports whether an answer to salt is one of who knows the password.
	knows func(password, salt, answer []byte) bool
	// answer is that answer, nil where the door only takes them.
	answer func(password, salt []byte) []byte
	// hash is what the server keeps of the password, by which it proves to clients of MariaDB who it is; nil
	// where they expect no proof.
	hash func(password []byte) []byte
	// whole says that a client whose answer is wrong is asked for the password itself.
	whole bool
	// more is sent before the answer that all is well.
	more []byte
}

// The names of the ways in the protocol.
const (
	native  = "mysql_native_password"
	caching = "caching_sha2_password"
	ed      = "client_ed25519"
)

var ways = map[string]way{
	native:  {salt: saltBytes, knows: answers(nativeAnswer), answer: nativeAnswer, hash: nativeHash},
	caching: {salt: saltBytes, knows: answers(cachingAnswer), answer: cachingAnswer, whole: true, more: []byte{isMore, cachedWell}},
	ed:      {salt: saltEd25519, knows: edKnows, hash: edKey},
}

// What a server says of caching_sha2_password: it remembers the account, or wants the password itself.
const (
	cachedWell = 0x03
	wantsAll   = 0x04
)

func answers(f func(password, salt []byte) []byte) func(password, salt, answer []byte) bool {
	return func(password, salt, answer []byte) bool {
		return subtle.ConstantTimeCompare(f(password, salt), answer) == 1
	}
}

// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_authentication_methods_native_password_authentication.html
func nativeAnswer(password, salt []byte) []byte {
	once := sha1.Sum(password)                                           //nolint:gosec // the protocol's
	mask := sha1.Sum(append(bytes.Clone(salt), nativeHash(password)...)) //nolint:gosec // the protocol's
	subtle.XORBytes(mask[:], mask[:], once[:])
	return mask[:]
}

func nativeHash(password []byte) []byte {
	once := sha1.Sum(password) //nolint:gosec // the protocol's
	twice := sha1.Sum(once[:]) //nolint:gosec // the protocol's
	return twice[:]
}

// https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html
func cachingAnswer(password, salt []byte) []byte {
	once := sha256.Sum256(password)
	twice := sha256.Sum256(once[:])
	mask := sha256.Sum256(append(bytes.Clone(twice[:]), salt...))
	subtle.XORBytes(mask[:], mask[:], once[:])
	return mask[:]
}

// edKey is the public key that belongs to a password: that of Ed25519, but for a seed of any length.
// https://mariadb.com/docs/server/reference/clientserver-protocol/1-connecting/connection#client_ed25519-plugin
func edKey(password []byte) []byte {
	h := sha512.Sum512(password)
	s, err := edwards25519.NewScalar().SetBytesWithClamping(h[:32])
	if err != nil {
		panic(err) // it is of 32 bytes
	}
	return new(edwards25519.Point).ScalarBaseMult(s).Bytes()
}

func edKnows(password, salt, answer []byte) bool {
	return len(answer) == ed25519.SignatureSize && ed25519.Verify(edKey(password), salt, answer)
}
