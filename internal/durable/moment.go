package durable

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ParseTime reads a time as people write it: RFC 3339, a date and a time or a time alone, both in the zone
// of now, or how long ago. A time alone is the last one that was so: today's, or yesterday's. One without a
// fraction of a second stands for the whole of its second, since logs of MariaDB know seconds alone.
func ParseTime(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if d, ok := parseAgo(text); ok {
		return now.Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text)); err == nil {
		return wholeSecond(t, text), nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return wholeSecond(t, text), nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		c, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		day := now
		for {
			t := time.Date(day.Year(), day.Month(), day.Day(), c.Hour(), c.Minute(), c.Second(), c.Nanosecond(), now.Location())
			if !t.After(now) {
				return wholeSecond(t, text), nil
			}
			day = day.AddDate(0, 0, -1)
		}
	}
	if _, err := time.Parse(time.DateOnly, text); err == nil {
		return time.Time{}, fmt.Errorf("%q is a date without a time\nhint: '%s 00:00:00' is its beginning, '%s 23:59:59' its end", text, text, text)
	}
	return time.Time{}, fmt.Errorf("%q is no time\nhint: 14:03, '2026-11-25 14:03:00', 2026-11-25T14:03:00+01:00, or -10m", text)
}

func wholeSecond(t time.Time, text string) time.Time {
	if strings.ContainsAny(text, ".,") {
		return t
	}
	return t.Add(time.Second - 1)
}

var (
	agoWords = regexp.MustCompile(`^(\d+(?:\.\d+)?) ?([a-z]+) ago$`)
	agoUnits = map[string]time.Duration{
		"s": time.Second, "sec": time.Second, "second": time.Second, "m": time.Minute, "min": time.Minute, "minute": time.Minute,
		"h": time.Hour, "hour": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour,
	}
)

// parseAgo reads -10m, 10m ago, 10 minutes ago, now.
func parseAgo(text string) (time.Duration, bool) {
	if text == "now" {
		return 0, true
	}
	if m := agoWords.FindStringSubmatch(strings.ToLower(text)); m != nil {
		unit, ok := agoUnits[m[2]]
		if !ok {
			unit, ok = agoUnits[strings.TrimSuffix(m[2], "s")]
		}
		n, err := strconv.ParseFloat(m[1], 64)
		return time.Duration(n * float64(unit)), ok && err == nil
	}
	amount, minus := strings.CutPrefix(text, "-")
	if !minus {
		var ago bool
		if amount, ago = strings.CutSuffix(text, " ago"); !ago {
			return 0, false
		}
	}
	if days, ok := strings.CutSuffix(amount, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		return time.Duration(n * float64(24*time.Hour)), err == nil && n >= 0
	}
	d, err := time.ParseDuration(amount)
	return d, err == nil && d >= 0
}
