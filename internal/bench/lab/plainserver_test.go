package lab

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWithoutLog(t *testing.T) {
	got, err := withoutLog("[mysqld]\n\n# why\nlog_bin = binlog\n\n# why\nlog_bin_compress = OFF\n")
	if want := "[mysqld]\n\n# why\nskip_log_bin\n\n# why\nlog_bin_compress = OFF\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"[mysqld]\nskip_log_bin\n", "log_bin = a\nlog_bin = b\n"} {
		if _, err := withoutLog(text); err == nil {
			t.Errorf("%q: accepted", text)
		}
	}
}

// TestHandshakeHasALimit: the lab does not wait for ever for a server that is not there or is silent.
func TestHandshakeHasALimit(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	limited := func(want string) {
		t.Helper()
		if err := handshake(t.Context(), socket, nil, 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "none in 50ms (last: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	limited("no such file")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	limited("closed")
	ended := make(chan struct{})
	close(ended)
	if err := handshake(t.Context(), socket+"2", ended, time.Minute); !errors.Is(err, errEnded) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := handshake(ctx, socket, nil, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, err = c.Write([]byte("x"))
			if errors.Is(err, syscall.EPIPE) { // one that has given up above
				err = nil
			}
			if err := errors.Join(err, c.Close()); err != nil {
				t.Error(err)
			}
		}
	}()
	if err := handshake(t.Context(), socket, nil, 4*time.Minute); err != nil {
		t.Error(err)
	}
}
