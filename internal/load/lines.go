package load

import (
	"bytes"
	"io"
)

// lineEnds reads as the client does without --binary-mode: where a line ends in CR LF, the CR is left
// out, in strings and bodies as well. Dumpers write those of values in another way (\r).
// https://mariadb.com/kb/en/mariadb-command-line-client/
type lineEnds struct {
	r    io.Reader
	buf  []byte
	rest []byte // of buf, not handed out yet
	err  error  // what comes behind rest
}

func newLineEnds(r io.Reader) *lineEnds { return &lineEnds{r: r, buf: make([]byte, 64<<10)} }

func (l *lineEnds) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(l.rest) == 0 || l.rest[0] == '\r' && len(l.rest) == 1 && l.err == nil {
			if n > 0 || l.err != nil { // hand out first what there is
				break
			}
			kept := copy(l.buf, l.rest) // a CR whose next byte is to come
			m, err := l.r.Read(l.buf[kept:])
			if l.rest, l.err = l.buf[:kept+m], err; m == 0 && err == nil {
				return 0, nil
			}
			continue
		}
		i := bytes.IndexByte(l.rest, '\r')
		switch {
		case i < 0:
			i = len(l.rest)
		case i > 0: // it is looked at when it comes first
		case len(l.rest) > 1 && l.rest[1] == '\n':
			l.rest = l.rest[1:]
			i = 1
		default:
			i = 1
		}
		i = copy(p[n:], l.rest[:i])
		l.rest, n = l.rest[i:], n+i
	}
	if n == 0 && len(l.rest) == 0 && len(p) > 0 {
		return 0, l.err
	}
	return n, nil
}

var _ io.Reader = (*lineEnds)(nil)
