package engine

import (
	"errors"
	"fmt"
	"net"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// checkDoors refuses a front door, or an API for other machines, where there is nothing behind it, or where the server cannot
// be reached by those whom it lets in.
func checkDoors(spec instance.Spec) error {
	flag, other := "--front", ", and ramaria front OTHER a door"
	if spec.APIListen != "" {
		flag, other = "--api-listen", ""
	}
	switch {
	case spec.Front == 0 && spec.APIListen == "":
		return nil
	case levelOf(spec).Durable():
		return RequestError{fmt.Errorf("use %s with a durable instance: it has no templates, since resets are in no log\nhint: ramaria branch NAME OTHER has templates%s", flag, other)}
	case spec.Log == instance.LogOff:
		return RequestError{fmt.Errorf("use %s with --log off: without a log there are no templates\nhint: leave --log off out", flag)}
	case spec.APIListen == "":
		return nil
	}
	host, _, err := net.SplitHostPort(spec.APIListen)
	if err != nil {
		return RequestError{err}
	}
	bind := spec.Set["bind_address"]
	if server.ListensAt(bind, host) {
		return nil
	}
	at := host
	if at == "" {
		at = "0.0.0.0"
	}
	why := "the server listens at " + bind
	if bind == "" {
		why = "the server listens at " + server.Loopback + " only"
	}
	return RequestError{errors.New("use --api-listen " + spec.APIListen + ": " + why + ", and clients get the clones' address from it\nhint: add --set bind_address=" + at + "; an instance that exists is made again by --fresh")}
}
