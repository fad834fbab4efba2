package dump

import (
	"context"
	"io"
)

// Until reads r until ctx ends, and fails with its error then: a statement may be so large that
// a reader of statements is told nothing for a long time.
func Until(ctx context.Context, r io.Reader) io.Reader { return untilReader{ctx, r} }

type untilReader struct {
	ctx context.Context //nolint:containedctx // a Reader's Read takes none
	r   io.Reader
}

func (u untilReader) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
