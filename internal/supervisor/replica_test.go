package supervisor

import (
	"log/slog"
	"sync"
	"testing"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestRequestsBesidePromotion: requests ask what an instance follows while that ends. The race detector sees it if they ask what
// the goroutine of Run writes.
func TestRequestsBesidePromotion(t *testing.T) {
	dir := t.TempDir()
	i := &instance.Instance{Record: instance.Record{Name: "b", Dir: dir, Spec: instance.Spec{Replica: &instance.Replica{Of: "a"}}}}
	s := newSupervisor(i, &instance.Store{Registry: instance.Registry{Dir: t.TempDir()}}, Options{Log: slog.New(slog.DiscardHandler)})
	over := make(chan bool)
	var asking, asked sync.WaitGroup
	asked.Add(1)
	asking.Go(func() {
		for first := true; ; first = false {
			_, _ = s.isReplica(), s.needsPromotion("use templates")
			_ = s.checkSource(false)
			if first {
				asked.Done()
			}
			select {
			case <-over:
				return
			default:
			}
		}
	})
	asked.Wait()
	if err := s.settleReplica(); err != nil {
		t.Error(err)
	}
	close(over)
	asking.Wait()
	if s.isReplica() || i.Spec.Replica != nil {
		t.Error("it is a replica still")
	}
}
