package tests

import (
	"os"
	"sync"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/host"
)

// canHoldWrites tells whether the disk below the homes of scripts can be held to a rate of writes.
var canHoldWrites = sync.OnceValue(func() bool {
	t, err := runner.NewWriteThrottle(host.Host{}, os.TempDir())
	return err == nil && t.Remove() == nil
})
