//go:build !linux

package client

import (
	"fmt"
	"net"
)

// checkFile refuses: instances run on Linux only. The package builds elsewhere so that
// programs which may use it do.
func checkFile(string) error {
	return fmt.Errorf("%w: Ramaria runs on Linux", ErrNoServer)
}

func checkPeer(net.Conn) error { return nil }
