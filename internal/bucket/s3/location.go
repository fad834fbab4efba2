package s3

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// Location says where in a bucket an archive is, or images are. It holds no secret.
type Location struct {
	Bucket string
	// Prefix is what the names of all objects begin with, without slashes at its ends; "" for none.
	Prefix string
	// Endpoint is the URL of the service, and Region where the bucket is; "" for what the environment
	// says, or AWS itself.
	Endpoint, Region string
}

// ErrURL says that a URL is no place in a bucket.
var ErrURL = errors.New("not the URL of a bucket\nhint: s3://BUCKET/PREFIX, for a service other than AWS with ?endpoint=https://HOST; credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or ~/.aws/credentials")

// ParseURL reads s3://BUCKET/PREFIX, with the parameters endpoint and region. Its errors do not repeat
// the URL, in which somebody may have put a password.
func ParseURL(s string) (Location, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Fragment != "" || u.Port() != "" {
		return Location{}, fmt.Errorf("parse URL: %w", ErrURL)
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Location{}, fmt.Errorf("parse URL: %w", ErrURL)
	}
	l := Location{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), Endpoint: q.Get("endpoint"), Region: q.Get("region")}
	q.Del("endpoint")
	q.Del("region")
	if len(q) > 0 {
		return Location{}, fmt.Errorf("parse URL: a parameter that is neither endpoint nor region: %w", ErrURL)
	}
	if _, _, err := l.host(); err != nil {
		return Location{}, err
	}
	return l, nil
}

// String is what ParseURL reads.
func (l Location) String() string {
	u := url.URL{Scheme: "s3", Host: l.Bucket}
	if l.Prefix != "" {
		u.Path = "/" + l.Prefix
	}
	var q []string
	if l.Endpoint != "" { // colons and slashes may stand in a query
		q = append(q, "endpoint="+strings.NewReplacer("%3A", ":", "%2F", "/").Replace(url.QueryEscape(l.Endpoint)))
	}
	if l.Region != "" {
		q = append(q, "region="+url.QueryEscape(l.Region))
	}
	u.RawQuery = strings.Join(q, "&")
	return u.String()
}

// Pinned is the location with what the environment says of the service: it stays the same when another shell has
// another environment.
func (l Location) Pinned() Location {
	l.Endpoint = firstSet(l.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	l.Region = l.region()
	return l
}

// host is where the service is, and whether TLS is spoken there.
func (l Location) host() (host string, secure bool, err error) {
	endpoint := firstSet(l.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false, errors.New("parse endpoint: not https://HOST or https://HOST:PORT\nhint: it comes from ?endpoint= of the URL, or from AWS_ENDPOINT_URL")
	}
	return u.Host, u.Scheme == "https", nil
}

// region is where the bucket is; "" lets the service say it.
func (l Location) region() string {
	return firstSet(l.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
}

func firstSet(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
