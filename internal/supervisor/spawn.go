package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/service"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Spawn starts `ramaria supervise` for the instance, detached from the terminal
// and from this process, and waits until its server is ready. argv is the command
// line. When ctx ends first, the supervisor is stopped again.
func Spawn(ctx context.Context, i *instance.Instance, argv []string) error {
	if os.Getenv(service.EnvVar) != "" {
		return spawnUnit(ctx, i, argv)
	}
	log, err := os.OpenFile(i.SupervisorLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start supervisor: %w", err)
	}
	defer log.Close()
	cmd, err := sys.StartDetached(ctx, argv, log, func() string { return died(i) })
	if err == nil {
		// It is this process's child as long as both live; see that it is not left a zombie.
		go func() { _ = cmd.Wait() }()
	}
	return err
}

func died(i *instance.Instance) string {
	return "start supervisor: it died: " + server.LogTail(i.SupervisorLog())
}

// spawnUnit has systemd start the supervisor, from one that is a service itself: it would be stopped, and confined,
// together with that otherwise.
func spawnUnit(ctx context.Context, i *instance.Instance, argv []string) error {
	unit := "ramaria-" + i.Name + ".service"
	run := []string{
		"systemd-run", "--quiet", "--collect", "--no-ask-password", "--unit=" + unit, "--service-type=notify", "--property=NotifyAccess=main", "--property=KillMode=mixed",
		"--property=OOMPolicy=continue", "--property=TimeoutStartSec=infinity", "--property=LimitNOFILE=65536", "--setenv=HOME=" + os.Getenv("HOME"),
		"--property=StandardOutput=append:" + i.SupervisorLog(), "--property=StandardError=append:" + i.SupervisorLog(),
	}
	user := os.Geteuid() != 0
	if user {
		run = append(run, "--user")
	}
	cmd := exec.CommandContext(ctx, run[0], append(append(run[1:], "--"), argv...)...)
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		stop := []string{"stop", unit}
		if user {
			stop = append([]string{"--user"}, stop...)
		}
		return errors.Join(ctx.Err(), exec.CommandContext(context.WithoutCancel(ctx), "systemctl", stop...).Run())
	}
	if state, serr := i.State(); serr == nil && state.Reason != "" {
		return errors.New(state.Reason)
	}
	return fmt.Errorf("start supervisor by systemd: %s: %s", strings.TrimSpace(string(out)), died(i))
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
