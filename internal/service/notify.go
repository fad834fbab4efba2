package service

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// Notify tells the service manager that started this process what goes on, in the
// words of sd_notify(3): READY=1, STOPPING=1. Without one it does nothing.
func Notify(ctx context.Context, state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unixgram", path) // a leading @ is an abstract name, here as there
	if err != nil {
		return fmt.Errorf("notify service manager: %w", err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(state)); err != nil {
		return fmt.Errorf("notify service manager: %w", err)
	}
	return nil
}

// Managed reports whether a service manager that wants to be notified started this process.
func Managed() bool { return os.Getenv("NOTIFY_SOCKET") != "" }

const (
	// signEvery is the pause between two signs of life, and signFor how much time each asks for.
	signEvery, signFor = 5 * time.Second, time.Minute
)

// Status tells the service manager what goes on in words, and that it goes on.
func Status(ctx context.Context, text string) error {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n") // one line
	return Notify(ctx, fmt.Sprintf("STATUS=%s\nEXTEND_TIMEOUT_USEC=%d", text, signFor.Microseconds()))
}

// KeepAlive tells the service manager every few seconds that a start goes on, until the function that it returns
// is called.
func KeepAlive(ctx context.Context) (stop func()) {
	if !Managed() {
		return func() {}
	}
	ctx, stop = context.WithCancel(ctx)
	go func() {
		ticks := time.NewTicker(signEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				// The next one may get through.
				_ = Notify(ctx, fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", signFor.Microseconds()))
			}
		}
	}()
	return stop
}
