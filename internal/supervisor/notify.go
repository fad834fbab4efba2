package supervisor

import (
	"context"
	"fmt"
	"net"
	"os"
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
