package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/instance"
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

// TestDurableFlags: a value that is empty, or out of bounds, is refused, and never taken for one that is not given.
func TestDurableFlags(t *testing.T) {
	for _, c := range []struct {
		arg, want, err string
	}{
		{"--durable", "commit", ""},
		{"--durable=off", "", ""},
		{"--durable=1s", "1s", ""},
		{"--durable=1h", "1h0m0s", ""},
		{"--durable=", "", `use --durable="": it is a time of 1ms to 1h`},
		{"--durable= ", "", `use --durable=" ": it is a time`},
		{"--durable=400d", "", "1ms to 1h"},
		{"--durable=99999999999d", "", "1ms to 1h"},
		{"--durable=nand", "", "1ms to 1h"},
		{"--durable=-1s", "", "1ms to 1h"},
		{"--archive=", "", "it is no directory"},
		{"--recover-within=", "", `use --recover-within "": it is a time of 2s to 24h`},
		{"--recover-within=1000000h", "", "2s to 24h"},
		{"--history=", "", "0s to 3650d"},
		{"--history=4000d", "", "0s to 3650d"},
	} {
		var o specFlags
		cmd := &cobra.Command{}
		o.add(cmd)
		if err := cmd.ParseFlags([]string{c.arg}); err != nil {
			t.Fatal(err)
		}
		s, err := o.spec()
		var usage usageError
		switch {
		case c.err == "" && (err != nil || s.Durable != c.want):
			t.Errorf("%s: %q, %v; want %q", c.arg, s.Durable, err, c.want)
		case c.err != "" && (!errors.As(err, &usage) || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v; want %s", c.arg, err, c.err)
		}
	}
}

// TestFormatTime: times are written as people give them.
func TestFormatTime(t *testing.T) {
	for text, want := range map[string]string{"0s": "0s", "1ms": "1ms", "10s": "10s", "90s": "1m30s", "10m": "10m", "1h": "1h", "1h10m": "1h10m", "1h5s": "1h0m5s", "48h": "48h", "7d": "7d"} {
		d, err := parseTime(text)
		if got := instance.FormatTime(d); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
		if back, err := parseTime(want); err != nil || back != d {
			t.Errorf("%s is %s, %v", want, back, err)
		}
	}
	if got := instance.FormatTimeText(time.Hour.String()); got != "1h" {
		t.Errorf("got %s", got)
	}
}

// TestLooseLevel: what stands behind a space after --durable is no value, and no name by mistake.
func TestLooseLevel(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--durable", "1s"}, "--durable=1s"},
		{[]string{"shop", "--durable", "off"}, "--durable=off"},
		{[]string{"--durable", "shop"}, ""},
		{[]string{"--durable=1s", "shop"}, ""},
		{[]string{"1s"}, ""},
		{[]string{"--durable", "-i", "1s"}, ""},
	} {
		cmd := newUp(&app{})
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		err := cmd.ValidateArgs(cmd.Flags().Args())
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %q", c.args, err, c.want)
		}
	}
}

// TestHintsCanBePasted: the value of --durable is behind "=", where it is read.
func TestHintsCanBePasted(t *testing.T) {
	for arg, want := range map[string]string{"--durable=off": "up shop --durable=off --fresh", "--durable": "up shop --durable --fresh", "--durable=1s": "up shop --durable=1s --fresh"} {
		cmd := newUp(&app{})
		if err := cmd.ParseFlags([]string{arg}); err != nil {
			t.Fatal(err)
		}
		if got := freshCommand(cmd, "shop"); got != want {
			t.Errorf("%s: %s", arg, got)
		}
	}
}

// TestRestoreUntil: an empty --at or --at-position is not the end of the archive.
func TestRestoreUntil(t *testing.T) {
	for _, args := range [][]string{{"--at="}, {"--at-position="}, {"--at=2030-01-01"}, {"--at=now", "--at-position=1:1:4"}} {
		var o restoreOptions
		cmd := &cobra.Command{}
		o.addTo(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		var usage usageError
		if _, err := o.until("shop"); !errors.As(err, &usage) || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
