package supervisor

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/pool"
)

// TestTaskOfEnding has the supervisor end while it does something: the error names that once, in one line, and
// says what to type.
func TestTaskOfEnding(t *testing.T) {
	for name, f := range map[string]func(context.Context) error{
		"cause":  func(ctx context.Context) error { return fmt.Errorf("clone data: %w", context.Cause(ctx)) },
		"effect": func(ctx context.Context) error { return fmt.Errorf("clone data: %w", ctx.Err()) },
	} {
		t.Run(name, func(t *testing.T) {
			run, end := context.WithCancel(t.Context())
			task := task{t.Context(), func(ctx, _ context.Context) error {
				end()
				<-ctx.Done()
				return f(ctx)
			}, make(chan error, 1)}
			task.run(run)
			err := <-task.done
			if !errors.Is(err, api.ErrUnavailable) {
				t.Errorf("%v is not ErrUnavailable", err)
			}
			cause, hint, _ := strings.Cut(err.Error(), "\nhint: ")
			if strings.Count(cause, errEnding.Error()) != 1 || strings.Contains(cause, "\n") || hint == "" {
				t.Errorf("the error is %q", err)
			}
		})
	}
}

// TestPoolEnded has a rewind end the server while a lease is worked on: what the driver says of that is no
// error of Ramaria's own. What the pool knows stays what it is.
func TestPoolEnded(t *testing.T) {
	lost := fmt.Errorf("reset shop_1: %w", driver.ErrBadConn)
	if err := poolError(lost, true); !errors.Is(err, api.ErrUnavailable) || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("%v is not ErrUnavailable with a hint", err)
	}
	if err := poolError(lost, false); errors.Is(err, api.ErrUnavailable) {
		t.Errorf("%v is ErrUnavailable, and the server runs", err)
	}
	if err := poolError(pool.ErrNotFound, true); !errors.Is(err, api.ErrNotFound) || errors.Is(err, api.ErrUnavailable) {
		t.Errorf("%v is not ErrNotFound alone", err)
	}
	if err := poolError(nil, true); err != nil {
		t.Error(err)
	}
}
