package s3

import (
	"context"
	"io"

	"github.com/minio/minio-go/v7"
)

// Stream reads an object of any size as it comes: the caller closes it, and says by ctx how long it may take. size is in bytes.
// fs.ErrNotExist says that the object is not there.
func (s *Store) Stream(ctx context.Context, name string) (body io.ReadCloser, size int64, err error) {
	body, info, _, err := s.core.GetObject(ctx, s.at.Bucket, s.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, 0, s.fault(ctx, "get", name, err)
	}
	return body, info.Size, nil
}
