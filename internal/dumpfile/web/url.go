// Package web opens dumps that lie at URLs: on web servers, and in buckets.
//
// The invariant: user, password and query of a URL get into requests only, never into an error, a name or a file; and a dump of
// which a part did not come is an error.
package web

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bucket/s3"
)

// ErrURL says that a dump is not to be had by a URL: the URL is wrong.
var ErrURL = errors.New("wrong URL")

// urlError is an error that matches ErrURL and reads as it is.
type urlError struct{ error }

func (e urlError) Unwrap() error        { return e.error }
func (e urlError) Is(target error) bool { return target == ErrURL }

// The schemes of URLs.
const (
	secure   = "https"
	insecure = "http"
	bucket   = "s3"
)

// IsURL reports whether a text names a dump by a URL, not by a path.
func IsURL(text string) bool {
	return strings.HasPrefix(text, secure+"://") || strings.HasPrefix(text, insecure+"://") || strings.HasPrefix(text, bucket+"://")
}

// Check refuses a URL by which no dump is fetched, without asking anybody. The error matches ErrURL.
func Check(text string) error {
	_, err := parse(text)
	return err
}

// Redacted is the URL as it may be shown and written down: without user, password and query. What says at which service a bucket
// is stays.
func Redacted(text string) string {
	if at, err := s3.ParseURL(text); err == nil {
		return at.String()
	}
	u, err := url.Parse(text)
	if err != nil {
		scheme, _, _ := strings.Cut(text, "://")
		return scheme + "://..."
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// FileName is what the dump is called at its place; "" where the URL has no such name.
func FileName(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	name := path.Base(u.Path)
	if name == "." || name == ".." || name == "/" || len(name) > maxName || strings.ContainsAny(name, "/\x00") {
		return ""
	}
	return name
}

// maxName is how long the name of a file may be, in bytes: see path_resolution(7).
const maxName = 255

// parse reads a URL of a web server.
func parse(text string) (*url.URL, error) {
	if strings.HasPrefix(text, bucket+"://") {
		at, err := s3.ParseURL(text)
		if err == nil && at.Prefix == "" {
			err = fmt.Errorf("fetch %s: that is a whole bucket\nhint: s3://BUCKET/KEY names a dump in it", at)
		}
		if err != nil {
			return nil, urlError{err}
		}
		return nil, nil //nolint:nilnil // buckets have a type of their own
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Opaque != "" {
		return nil, urlError{fmt.Errorf("fetch %s: not the URL of a file\nhint: https://HOST/PATH/shop.sql.gz", Redacted(text))}
	}
	if u.Scheme == insecure && !loopback(u.Hostname()) {
		return nil, urlError{fmt.Errorf("fetch %s: over http anybody on the way reads the dump, and can put SQL into it\nhint: use https://; http:// is for this machine only (localhost)", Redacted(text))}
	}
	return u, nil
}

// loopback says that a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
