package software

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
)

// errUnsuited says that a method is not for this machine or this want; it says
// nothing about the network.
var errUnsuited = errors.New("not available")

// errNetwork marks errors that a command reported as text.
var errNetwork = errors.New("the network cannot be reached")

func isNetwork(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) || errors.As(err, &dns) || errors.Is(err, errNetwork) || errors.Is(err, ErrStalled) ||
		errors.Is(err, syscall.ECONNREFUSED)
}

// fetchFailure collects why no method worked.
type fetchFailure struct {
	lines   []string
	causes  []error
	network bool // every method that suits this machine failed on the network
	suited  bool // some method did
}

func (x *fetchFailure) add(method string, err error) {
	x.lines = append(x.lines, "\n  "+method+": "+err.Error())
	x.causes = append(x.causes, err)
	if errors.Is(err, errUnsuited) {
		return
	}
	lost := isNetwork(err)
	x.network = lost && (x.network || !x.suited)
	x.suited = true
}

// since is the end of a sentence that says that nothing could be fetched.
func (x *fetchFailure) since() string {
	if x.network {
		return ", since there seems to be no network"
	}
	return ""
}

// noServer is the error when everything failed.
func (f *Finder) noServer(w want, failed fetchFailure) error {
	text := "could be fetched" + failed.since()
	hint := f.installHint(w) + "; or " + nameHint(w)
	if slices.ContainsFunc(mavenJars, func(j jar) bool { return j.flavour == w.family.Flavour }) {
		hint += "; or set " + EnvMaven + " to a Maven mirror that can be reached"
	}
	if !failed.suited {
		text = "can be fetched"
	}
	if !failed.suited && w.parts > 0 {
		hint = fmt.Sprintf("use --server %s, or %s; what can be fetched is %s", w.family.Flavour, nameHint(w), catalogText(w.family))
	}
	return &fetchError{
		text: fmt.Sprintf("find server %s: none is installed, and none %s:%s%s\nhint: %s",
			w.text, text, passedOverText(f.PassedOver), strings.Join(failed.lines, ""), hint),
		causes: append([]error{ErrNoServer}, failed.causes...),
	}
}

func nameHint(w want) string { return "name one with --server /path/to/" + w.family.Daemons[0] }

// notFetching is the error when nothing was found and fetching is switched off.
func (f *Finder) notFetching(w want) error {
	return &fetchError{
		text: fmt.Sprintf("find server %s: none is installed, and fetching is switched off%s\nhint: %s; or %s; or unset %s",
			w.text, passedOverText(f.PassedOver), f.installHint(w), nameHint(w), EnvNoFetch),
		causes: []error{ErrNoServer},
	}
}

// fetchError is a message for people with all that errors.Is may want to know.
type fetchError struct {
	text   string
	causes []error
}

func (e *fetchError) Error() string   { return e.text }
func (e *fetchError) Unwrap() []error { return e.causes }
