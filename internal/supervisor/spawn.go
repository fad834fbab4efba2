package supervisor

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Spawn starts `ramaria supervise` for the instance, detached from the terminal
// and from this process, and waits until its server is ready. argv is the command
// line. When ctx ends first, the supervisor is stopped again. Who lives as long as it
// should wait for the command that is returned, lest it stay a zombie.
func Spawn(ctx context.Context, i *instance.Instance, argv []string) (*exec.Cmd, error) {
	log, err := os.OpenFile(i.SupervisorLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	defer log.Close()
	return sys.StartDetached(ctx, argv, log, func() string { return "start supervisor: it died: " + server.LogTail(i.SupervisorLog()) })
}

// Self is the program that is running, by a path that other processes can start. Where
// its file was replaced or removed since, it is the running one all the same.
func Self() string {
	path, err := os.Executable()
	if err == nil {
		if _, err = os.Stat(path); err == nil {
			return path
		}
	}
	return "/proc/self/exe"
}
