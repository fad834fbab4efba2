package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestArchivePlaces: one directory, then buckets, at the service that the environment names now.
func TestArchivePlaces(t *testing.T) {
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
	t.Setenv("AWS_REGION", "eu")
	for name, tc := range map[string]struct {
		given, want []string
		err         string
	}{
		"none":                   {},
		"a directory":            {[]string{"/a"}, []string{"/a"}, ""},
		"a bucket":               {[]string{"s3://b/p/"}, []string{"s3://b/p?endpoint=http://127.0.0.1:9000&region=eu"}, ""},
		"one that says where":    {[]string{"s3://b?endpoint=https://x.example.net&region=us"}, []string{"s3://b?endpoint=https://x.example.net&region=us"}, ""},
		"the directory is first": {[]string{"s3://b/p?endpoint=https://x.example.net", "/a"}, []string{"/a", "s3://b/p?endpoint=https://x.example.net&region=eu"}, ""},
		"none any more":          {[]string{"s3:off"}, []string{"s3:off"}, ""},
		"two directories":        {[]string{"/a", "/b"}, nil, "an archive is in one directory"},
		"one bucket twice":       {[]string{"s3://b/p", "s3://b/p/"}, nil, "twice"},
		"none and one":           {[]string{"s3:off", "s3://b/p"}, nil, "with other buckets"},
		"another protocol":       {[]string{"gs://b/p"}, nil, "neither a directory nor a bucket"},
		"no bucket":              {[]string{"s3://"}, nil, "hint: s3://BUCKET/PREFIX"},
		"nothing":                {[]string{""}, nil, "it is no directory"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := archivePlaces(tc.given)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
