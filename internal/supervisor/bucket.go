package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bucket"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
)

const (
	// bucketsInterval is the time between two looks at how buckets stand.
	bucketsInterval = time.Second
	// bucketLate is from when on a bucket that is behind, or cannot be reached, is worth a warning.
	bucketLate = 10 * time.Second
	// uploadPatience is how long a stop waits for uploads that get on, and removalPatience how long the end of an
	// instance that is removed does: its archive stays. failingPatience is how long they do for a bucket that
	// answers with errors.
	uploadPatience  = 10 * time.Second
	removalPatience = 2 * time.Second
	failingPatience = time.Second
	// abandonPatience is how long an upload that is cancelled may take to return.
	abandonPatience = 2 * time.Second
)

// Bucket is a bucket that gets a copy of the archive.
type Bucket struct {
	URL string
	// Store is the place in it; nil if it cannot be used, for Err.
	Store bucket.Store
	Err   error
}

// mirrors keep the buckets of an instance equal to its archive. No commit, and nothing that the instance does,
// waits for them, but for a while its end.
type mirrors struct {
	list []*mirror
	// stop ends them, and done is closed when they have ended.
	stop context.CancelFunc
	done chan struct{}
	// told is what buckets.json says. It is the watch's, and after that the end's.
	told []durable.BucketState
}

type mirror struct {
	Bucket
	*bucket.Mirror
	// failing is since when every look has found an error, and why the first of them.
	failing time.Time
	why     string
}

// openBuckets begins to mirror the archive that is being kept.
func (s *Supervisor) openBuckets() {
	if len(s.options.Buckets) == 0 {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &mirrors{stop: stop, done: make(chan struct{})}
	ended := make(chan struct{})
	running := 0
	for _, b := range s.options.Buckets {
		one := &mirror{Bucket: b}
		if b.Store != nil {
			one.Mirror = s.keeper.Mirror(b.Store)
			running++
			go func() { one.Run(ctx); ended <- struct{}{} }()
		}
		m.list = append(m.list, one)
	}
	go func() {
		defer close(m.done)
		for range running {
			<-ended
		}
	}()
	s.keeper.Appended = m.notify
	s.mirrors = m
}

// notify says that more of the log lasts.
func (m *mirrors) notify() {
	for _, one := range m.list {
		if one.Mirror != nil {
			one.Notify()
		}
	}
}

// status is that of the mirror, or why there is none.
func (m *mirror) status() bucket.Status {
	if m.Mirror == nil {
		return bucket.Status{Err: m.Err}
	}
	return m.Status()
}

// state is how the bucket stands.
func (m *mirror) state() durable.BucketState { return durable.StateOf(m.URL, m.status()) }

// watchBuckets says how buckets stand, until ctx ends.
func (s *Supervisor) watchBuckets(ctx context.Context) {
	t := time.NewTicker(bucketsInterval)
	defer t.Stop()
	for {
		if err := s.lookAtBuckets(); err != nil {
			s.log.Error("cannot say how buckets stand", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// lookAtBuckets writes how they stand to buckets.json, and what there is to say of that.
func (s *Supervisor) lookAtBuckets() error {
	var now []durable.BucketState
	var warnings []string
	for _, m := range s.mirrors.list {
		b := m.state()
		now = append(now, b)
		if text := m.warning(b, s.inst.Name); text != "" {
			warnings = append(warnings, text)
		}
	}
	s.bucketWarnings.Store(&warnings)
	return s.tellBuckets(now)
}

// tellBuckets writes buckets.json where it is another.
func (s *Supervisor) tellBuckets(now []durable.BucketState) error {
	same := func(a, b durable.BucketState) bool {
		moved := a.Behind.Sub(b.Behind).Abs() > bucketsInterval // it is reckoned from a time that passes
		complete := (a.Complete == nil) == (b.Complete == nil) && (a.Complete == nil || a.Complete.Equal(*b.Complete))
		return !moved && complete && a.InSync == b.InSync && a.Position == b.Position && a.Error == b.Error
	}
	if slices.EqualFunc(now, s.mirrors.told, same) || s.gone() {
		return nil
	}
	s.mirrors.told = now
	return instance.WriteJSON(s.inst.BucketsPath(), now)
}

// warning is what there is to say of a bucket, "" for nothing. It stays the same for as long as the same is wrong.
func (m *mirror) warning(b durable.BucketState, name string) string {
	if b.Error == "" {
		m.failing, m.why = time.Time{}, ""
	} else if m.why == "" {
		m.failing, m.why = time.Now(), b.Error
	}
	late := !b.Behind.IsZero() && time.Since(b.Behind) >= bucketLate
	switch {
	case b.Error != "" && (m.refused() || late || time.Since(m.failing) >= bucketLate):
		text, hint, _ := strings.Cut(m.why, "\nhint: ")
		if hint != "" {
			hint = "\nhint: " + hint
		}
		if strings.Contains(hint, "AWS_") {
			hint += fmt.Sprintf("; then ramaria down %s && ramaria up %[1]s: the supervisor has the variables of the command that started it", name)
		}
		return fmt.Sprintf("bucket %s lacks what was committed since %s, and the archive on the disk has it: %s%s", m.URL, m.failing.Local().Format(time.DateTime), strings.ReplaceAll(text, "\n", "; "), hint)
	case late && b.Complete == nil:
		return fmt.Sprintf("bucket %s cannot be restored from yet: the first base backup is going up", m.URL)
	case late:
		return fmt.Sprintf("bucket %s is more than %s behind; the archive on the disk has what it lacks", m.URL, bucketLate)
	}
	return ""
}

// refused reports whether only a human can change what is wrong.
func (m *mirror) refused() bool {
	if m.Mirror == nil {
		return true
	}
	err := m.Status().Err
	return errors.Is(err, bucket.ErrForeign) || errors.Is(err, bucket.ErrOther)
}

// closeBuckets ends the mirrors of an archive that gets nothing any more, once they have what it has, or after a
// time, or when ctx ends. It says what they lack.
func (s *Supervisor) closeBuckets(ctx context.Context, patience time.Duration) (lacks []string) {
	m := s.mirrors
	if m == nil {
		return nil
	}
	s.mirrors = nil
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	level := make([]chan bool, len(m.list))
	for i, one := range m.list {
		level[i] = make(chan bool, 1)
		go func() { level[i] <- one.settle(limited) }()
	}
	var now []durable.BucketState
	for i, one := range m.list {
		is := <-level[i]
		b := one.state()
		b.InSync = is
		if !is && b.Behind.IsZero() {
			b.Behind = time.Now()
		}
		now = append(now, b)
		if !is {
			lacks = append(lacks, fmt.Sprintf("bucket %s lacks the end of the archive, which is on the disk%s", one.URL, s.goesOn()))
		}
	}
	m.stop()
	select {
	case <-m.done:
	case <-time.After(abandonPatience): // this process ends
	}
	if !s.gone() {
		if err := instance.WriteJSON(s.inst.BucketsPath(), now); err != nil {
			s.log.Error("cannot say how buckets stand", "error", err)
		}
	}
	return lacks
}

// goesOn says what uploads the rest.
func (s *Supervisor) goesOn() string {
	if s.inst.Passing {
		return "; the next run with that archive uploads it"
	}
	return "\nhint: ramaria up " + s.inst.Name + " uploads it"
}

// settle waits until the bucket has what the archive has, and reports whether it does. One that answers with errors
// is not waited for.
func (m *mirror) settle(ctx context.Context) bool {
	if m.Mirror == nil {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for failing := time.Duration(0); failing < failingPatience; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(settlePause):
			}
			failing += settlePause
			if m.Status().Err == nil {
				failing = 0
			}
		}
		cancel()
	}()
	return m.Settle(ctx) == nil
}
