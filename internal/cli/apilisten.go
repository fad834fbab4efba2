package cli

import (
	"fmt"
	"net"
	"strconv"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// listenAPI reads --api-listen.
func (o *specFlags) listenAPI() (string, error) {
	failed := func(format string, args ...any) error {
		return usageError{fmt.Errorf("use --api-listen %s: "+format, append([]any{sayable(o.apiListen)}, args...)...)}
	}
	listen, err := instance.ParseAPIListen(o.apiListen)
	if err != nil {
		return "", failed("%w\nhint: --api-listen 192.168.1.5:3443, with an address of this machine; off closes it", err)
	}
	if listen == "" {
		return "", nil
	}
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", failed("%w", err)
	}
	for flag, other := range map[string]int{"--port": o.port, "--front": o.front} {
		if port == strconv.Itoa(other) {
			return "", failed("%s has that port\nhint: --api-listen %s takes another", flag, net.JoinHostPort("ADDRESS", strconv.Itoa(other+1)))
		}
	}
	return listen, nil
}
