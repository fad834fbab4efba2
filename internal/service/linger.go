package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// lingerers is where logind notes whose services run without a session.
const lingerers = "/var/lib/systemd/linger"

// Lingers reports whether services of the user run from boot on, and without a session.
func Lingers(user string) bool {
	_, err := os.Stat(filepath.Join(lingerers, user))
	return err == nil
}

// Linger switches that on, or off.
func Linger(ctx context.Context, user string, on bool) error {
	verb := "enable-linger"
	if !on {
		verb = "disable-linger"
	}
	out, err := exec.CommandContext(ctx, "loginctl", "--no-ask-password", verb, user).CombinedOutput()
	if err != nil {
		return fmt.Errorf("loginctl %s: %w", verb, explain(err, string(out)))
	}
	if Lingers(user) != on {
		return fmt.Errorf("loginctl %s: %w", verb, errors.New("it changed nothing"))
	}
	return nil
}
