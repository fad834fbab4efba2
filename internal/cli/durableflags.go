package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bucket/s3"
	"github.com/ramaria-db/ramaria/internal/instance"
)

const (
	// leastInterval is the shortest --durable=INTERVAL: below, waiting for the disk costs no more.
	leastInterval = time.Millisecond
	// leastRecovery is the shortest --recover-within: a server takes some of it to start.
	leastRecovery = 2 * time.Second
	// durableOff ends the archiving of an instance.
	durableOff = "off"
)

// archived reads the flags of durable instances.
func (o *specFlags) archived(s *instance.Spec) error {
	switch o.durable {
	case "", durableOff:
	case instance.DurableCommit:
		s.Durable = o.durable
	default:
		d, err := parseTime(o.durable)
		if err != nil || d < leastInterval {
			return usageError{fmt.Errorf("use --durable=%s: it is a time, as in --durable=1s, or off\nhint: --durable alone loses nothing", o.durable)}
		}
		s.Durable = d.String()
	}
	var err error
	if s.Archive, err = archivePlaces(o.archive); err != nil {
		return err
	}
	for _, f := range []struct {
		flag, value string
		least       time.Duration
		to          *string
	}{{"recover-within", o.recoverWithin, leastRecovery, &s.RecoverWithin}, {"history", o.history, 0, &s.History}} {
		if f.value == "" {
			continue
		}
		d, err := parseTime(f.value)
		if err != nil || d < f.least {
			return usageError{fmt.Errorf("use --%s %s: it is a time of at least %s, such as 30s, 12h or 7d", f.flag, f.value, f.least)}
		}
		*f.to = d.String()
	}
	return nil
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
		case where == "":
			return nil, usageError{errors.New("use --archive \"\": it is no directory\nhint: --archive DIR, or leave it out for the usual place")}
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
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		return time.Duration(n * float64(24*time.Hour)), err
	}
	return time.ParseDuration(text)
}
