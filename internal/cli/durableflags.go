package cli

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/bucket/s3"
	"github.com/ramaria-db/ramaria/internal/instance"
)

const (
	// leastInterval is the shortest --durable=INTERVAL: below, waiting for the disk costs no more. mostInterval is the
	// longest: more than that of what was acknowledged is no promise.
	leastInterval, mostInterval = time.Millisecond, time.Hour
	// leastRecovery is the shortest --recover-within: a server takes some of it to start. mostRecovery is the longest.
	leastRecovery, mostRecovery = 2 * time.Second, 24 * time.Hour
	// mostHistory is the longest --history, ten years.
	mostHistory = 3650 * 24 * time.Hour
)

// archived reads the flags of durable instances. One that is empty is refused: it comes of a variable that is not
// set, and would be taken for one that is not given.
func (o *specFlags) archived(s *instance.Spec) error {
	switch {
	case o.durable == "" && !o.given("durable"), o.durable == instance.DurableOff:
	case o.durable == instance.DurableCommit:
		s.Durable = o.durable
	default:
		d, err := parseTime(o.durable)
		if err != nil || d < leastInterval || d > mostInterval {
			return usageError{fmt.Errorf("use --durable=%s: it is a time of %s to %s, as in --durable=1s, or off\nhint: --durable alone loses nothing", sayable(o.durable), instance.FormatTime(leastInterval), instance.FormatTime(mostInterval))}
		}
		s.Durable = d.String()
	}
	var err error
	if s.Archive, err = archivePlaces(o.archive); err != nil {
		return err
	}
	for _, f := range []struct {
		flag, value, usual string
		least, most        time.Duration
		to                 *string
	}{
		{"recover-within", o.recoverWithin, "30s", leastRecovery, mostRecovery, &s.RecoverWithin},
		{"history", o.history, "7d", 0, mostHistory, &s.History},
	} {
		if f.value == "" && !o.given(f.flag) {
			continue
		}
		d, err := parseTime(f.value)
		if err != nil || d < f.least || d > f.most {
			return usageError{fmt.Errorf("use --%s %s: it is a time of %s to %s\nhint: --%[1]s %[5]s is the default", f.flag, sayable(f.value), instance.FormatTime(f.least), instance.FormatTime(f.most), f.usual)}
		}
		*f.to = d.String()
	}
	return nil
}

// sayable shows a value in an error, also one that is empty.
func sayable(value string) string {
	if strings.TrimSpace(value) == "" {
		return strconv.Quote(value)
	}
	return value
}

// refuseLooseLevel refuses an argument that was meant to be the value of --durable, which takes one behind "=" only: it
// would be taken for a name, and the level be another. other says how to mean the argument.
func refuseLooseLevel(cmd *cobra.Command, args []string, other string) error {
	if !cmd.Flags().Changed("durable") {
		return nil
	}
	for _, arg := range args {
		if _, err := parseTime(arg); err == nil || arg == instance.DurableOff || arg == instance.DurableCommit {
			return usageError{fmt.Errorf("%s: %q is not the value of --durable, but an argument\nhint: --durable=%[2]s; "+other, does(cmd), arg)}
		}
	}
	return nil
}

// noLooseLevel has a command refuse that.
func noLooseLevel(cmd *cobra.Command) *cobra.Command {
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := refuseLooseLevel(cmd, args, "-i %[2]s is an instance of that name"); err != nil {
			return err
		}
		return check(cmd, args)
	}
	return cmd
}

// archivePlaces reads --archive: one directory at most, and buckets, in this order.
func archivePlaces(given []string) ([]string, error) {
	var dirs, buckets []string
	for _, where := range given {
		switch {
		case where == instance.NoBuckets:
			buckets = append(buckets, where)
		case instance.IsBucket(where):
			at, err := s3.ParseURL(where)
			if err != nil {
				return nil, usageError{err}
			}
			buckets = append(buckets, at.Pinned().String())
		case strings.Contains(where, "://"):
			return nil, usageError{fmt.Errorf("use --archive %s: it is neither a directory nor a bucket\nhint: --archive DIR, --archive s3://BUCKET/PREFIX", where)}
		case strings.TrimSpace(where) == "":
			return nil, usageError{fmt.Errorf("use --archive %q: it is no directory\nhint: --archive DIR, or leave it out for the usual place", where)}
		default:
			abs, err := filepath.Abs(where)
			if err != nil {
				return nil, err
			}
			dirs = append(dirs, abs)
		}
	}
	if len(dirs) > 1 {
		return nil, usageError{fmt.Errorf("use --archive %s: an archive is in one directory, %s\nhint: buckets may have copies: --archive s3://BUCKET/PREFIX", dirs[1], dirs[0])}
	}
	for i, b := range buckets {
		if slices.Contains(buckets[:i], b) {
			return nil, usageError{fmt.Errorf("use --archive %s twice\nhint: once", b)}
		}
		if b == instance.NoBuckets && len(buckets) > 1 {
			return nil, usageError{fmt.Errorf("use --archive %s with other buckets\nhint: without %[1]s the others are all that there are", b)}
		}
	}
	return append(dirs, buckets...), nil
}

// parseTime is time.ParseDuration, with days.
func parseTime(text string) (time.Duration, error) {
	days, ok := strings.CutSuffix(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseFloat(days, 64)
	if err != nil {
		return 0, err
	}
	ns := n * float64(24*time.Hour)
	if math.IsNaN(ns) || math.Abs(ns) >= math.MaxInt64 {
		return 0, strconv.ErrRange
	}
	return time.Duration(ns), nil
}
