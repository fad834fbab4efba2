package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const writers = 8

// ledger is what the writers were told, and what was there after the last start.
type ledger struct {
	acknowledged [writers]int64
	rows         map[int]row
	ready        bool
	recoveries   int
	boot         time.Duration // the last start that was not cut off
}

// row is what is there of a writer.
type row struct{ last, count, total int64 }

func (l *ledger) total() (n int64) {
	for _, a := range l.acknowledged {
		n += a
	}
	return n
}

// pending reports whether a start has not told yet what is there.
func (l *ledger) pending() bool { return !l.ready }

// note takes a line of the guest's; others are passed on.
func (l *ledger) note(line string) error {
	var w int
	var r row
	var n int64
	switch {
	case strings.HasPrefix(line, "FAILED"):
		return errors.New(line)
	case scan(line, "ROWS %d %d %d %d", &w, &r.last, &r.count, &r.total):
		if l.rows == nil {
			l.rows = map[int]row{}
		}
		l.rows[w], l.ready = r, false
	case scan(line, "A %d %d", &w, &n):
		l.acknowledged[w] = n
	case line != "READY":
		fmt.Println("   ", line)
	}
	return nil
}

func scan(line, format string, to ...any) bool {
	n, err := fmt.Sscanf(line, format, to...)
	return err == nil && n == len(to)
}

// compare finds what is lost, or there that should not be.
func (l *ledger) compare() error {
	var errs []error
	for w, acknowledged := range l.acknowledged {
		switch r := l.rows[w]; {
		case r.last < acknowledged:
			errs = append(errs, fmt.Errorf("writer %d: %d transactions were acknowledged, and the last that is there is %d", w, acknowledged, r.last))
		case r.last > acknowledged+1:
			errs = append(errs, fmt.Errorf("writer %d: transaction %d is there, and at most %d was begun", w, r.last, acknowledged+1))
		case r.count != r.last || r.total != r.last:
			errs = append(errs, fmt.Errorf("writer %d: of %d transactions there are %d rows, and %d in its total", w, r.last, r.count, r.total))
		default:
			l.acknowledged[w] = r.last // what was under way is there, and stays
		}
	}
	l.rows, l.ready = nil, true
	l.recoveries++
	return errors.Join(errs...)
}
