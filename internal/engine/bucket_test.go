package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestMergeArchive: what --archive does not speak of stays as it is.
func TestMergeArchive(t *testing.T) {
	const at = "s3://b/p?endpoint=https://minio.example.net&region=eu"
	for name, tc := range map[string]struct{ was, now, want []string }{
		"nothing":                       {},
		"a directory":                   {nil, []string{"/a"}, []string{"/a"}},
		"a bucket":                      {nil, []string{"s3://b/p"}, []string{"s3://b/p"}},
		"the directory was moved":       {[]string{"/a", "s3://b/p"}, []string{"/c"}, []string{"/c", "s3://b/p"}},
		"it is in another directory":    {[]string{"s3://b/p"}, []string{"/c"}, []string{"/c", "s3://b/p"}},
		"another bucket":                {[]string{"/a", "s3://b/p"}, []string{"s3://b/q"}, []string{"/a", "s3://b/q"}},
		"both":                          {[]string{"/a", "s3://b/p"}, []string{"/c", "s3://b/q", "s3://b/r"}, []string{"/c", "s3://b/q", "s3://b/r"}},
		"no bucket any more":            {[]string{"/a", "s3://b/p"}, []string{instance.NoBuckets}, []string{"/a"}},
		"no bucket of none":             {nil, []string{instance.NoBuckets}, nil},
		"the same, without its service": {[]string{at}, []string{"s3://b/p", "s3://b/q"}, []string{at, "s3://b/q"}},
		"one of another service":        {[]string{at}, []string{"s3://b/p?region=us"}, []string{"s3://b/p?region=us"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, mergeArchive(tc.was, tc.now), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
