package s3

import (
	"context"
	"crypto/md5" // #nosec G501 -- what services call an ETag, and no secret
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/minio/minio-go/v7"
)

// verify makes sure that the service has all of an object that it said it has taken: one that answers 200 and keeps
// half of it would be found out by the restore. said is the ETag of that answer.
func (s *Store) verify(ctx context.Context, name string, b []byte, said string) error {
	has, err := s.core.StatObject(ctx, s.at.Bucket, s.key(name), minio.StatObjectOptions{})
	if err != nil {
		return s.fault(ctx, "look at", name, err)
	}
	var what string
	switch {
	case has.Size != int64(len(b)):
		what = fmt.Sprintf("has %d bytes of %d", has.Size, len(b))
	case said != "" && has.ETag != "" && plain(has.ETag) != plain(said):
		what = fmt.Sprintf("has another one, of the ETag %s instead of %s", plain(has.ETag), plain(said))
	case s.otherBytes(has, b):
		what = fmt.Sprintf("has other bytes, of the ETag %s", plain(has.ETag))
	default:
		return nil
	}
	return s.fault(ctx, "put", name, fmt.Errorf("the service said that it has taken the object, and %s", what))
}

// otherBytes reports whether an ETag is surely the MD5 of other bytes than b. Not all ETags are one, and what they are
// depends on the service and on how it encrypts: one that had them once is expected to have them again.
func (s *Store) otherBytes(has minio.ObjectInfo, b []byte) bool {
	sum := md5.Sum(b) // #nosec G401 -- as above
	if plain(has.ETag) == hex.EncodeToString(sum[:]) {
		s.md5s.Store(true)
		return false
	}
	return s.md5s.Load() && len(plain(has.ETag)) == hex.EncodedLen(len(sum)) && has.Metadata.Get("X-Amz-Server-Side-Encryption") == ""
}

// plain is an ETag without its quotes.
func plain(etag string) string { return strings.ToLower(strings.Trim(etag, `"`)) }
