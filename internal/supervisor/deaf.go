package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// A member of Galera was seen that had joined, said that it is ready for connections, and never answered one. The others go on
// with it, so that its cluster looks whole. Its server is ended then, and started once more.

const (
	// deafPatience is how long a member's server may leave what it is asked without an answer, once it has said that it is
	// ready: that takes some milliseconds.
	deafPatience = time.Minute
	// deafPoll is the pause between two looks whether it has said so.
	deafPoll = time.Second
	// readyWords are what servers say in their logs then, and Galera when it has joined.
	readyWords = "ready for connections"
)

// errDeaf says that a server answers nothing.
var errDeaf = fmt.Errorf("the server says that it is ready, and has answered nothing for %s", deafPatience)

// unlessDeaf calls f, which waits for an answer of the server, and ends it with errDeaf if the server of a member is deaf.
func (s *Supervisor) unlessDeaf(ctx context.Context, f func(context.Context) error) error {
	if !s.isMember() {
		return f(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for since := time.Now(); time.Since(since) < deafPatience; {
			if !saysReady(s.inst.LogPath(), s.logFrom) {
				since = time.Now()
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(deafPoll):
			}
		}
		cancel(errDeaf)
	}()
	err := f(ctx)
	deaf := err != nil && errors.Is(context.Cause(ctx), errDeaf)
	cancel(nil)
	<-watched
	if deaf {
		return fmt.Errorf("%w\n%s", errDeaf, server.LogTail(s.inst.LogPath()))
	}
	return err
}

// saysReady reports whether a server's log says behind an offset that the server is ready.
func saysReady(path string, from int64) bool {
	const most = 1 << 20
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	if fi.Size() < from { // another one was begun
		from = 0
	}
	b, err := io.ReadAll(io.NewSectionReader(f, max(from, fi.Size()-most), most))
	return err == nil && bytes.Contains(b, []byte(readyWords))
}

// deafWarning is what there is to say of a server that was started twice, "" for nothing.
func (s *Supervisor) deafWarning() string {
	if s.deaf.IsZero() {
		return ""
	}
	return fmt.Sprintf("its server was ended and started again %s: it had said that it is ready, and answered nothing for %s", s.deaf.Local().Format(time.DateTime), deafPatience)
}
