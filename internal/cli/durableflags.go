package cli

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

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
	for _, dir := range o.archive {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		s.Archive = append(s.Archive, abs)
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

// parseTime is time.ParseDuration, with days.
func parseTime(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		return time.Duration(n * float64(24*time.Hour)), err
	}
	return time.ParseDuration(text)
}
