package ramariatest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
)

// Environment variables: EnvInstance has the name of the instance to start where RAMARIA_API
// is not set, EnvProgram the path of the ramaria program.
const (
	EnvInstance = client.EnvInstance
	EnvProgram  = "RAMARIA_BIN"
)

// DefaultInstance is the name of the instance to start where EnvInstance is not set.
const DefaultInstance = "tests"

// exitWait is for how long a program may take to end once it was told to.
const exitWait = 10 * time.Second

// findSocket returns the path of the API's socket of the instance to use, which is started
// if need be.
func findSocket(ctx context.Context) (string, error) {
	if socket := os.Getenv(client.EnvVar); socket != "" {
		api := client.New(socket)
		defer api.Close()
		return socket, api.Expect(ctx, client.WantedFromEnv())
	}
	name := cmp.Or(os.Getenv(EnvInstance), DefaultInstance)
	if _, err := ramaria(ctx, nil, "up", name); err != nil {
		return "", err
	}
	script, err := ramaria(ctx, nil, "env", name)
	if err != nil {
		return "", err
	}
	socket := exported(script, client.EnvVar)
	if socket == "" {
		return "", fmt.Errorf("find instance: ramaria env %s does not tell %s", name, client.EnvVar)
	}
	return socket, nil
}

// exported returns the value that a script of lines export NAME='VALUE' gives a variable.
func exported(script, name string) string {
	for line := range strings.Lines(script) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "export "+name+"='"); ok {
			return strings.ReplaceAll(strings.TrimSuffix(value, "'"), `'\''`, "'")
		}
	}
	return ""
}

// ramaria runs the program, with variables on top of the environment, and returns what it
// prints.
func ramaria(ctx context.Context, env []string, args ...string) (string, error) {
	program := cmp.Or(os.Getenv(EnvProgram), "ramaria")
	cmd := exec.CommandContext(ctx, program, args...)
	// It is asked to end, so that it can undo what it began.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = exitWait
	cmd.Env = append(os.Environ(), env...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		return "", explainRun(err, program, args, talk.String())
	}
	return out.String(), nil
}

// explainRun says what a program said that failed, or how to get one.
func explainRun(err error, program string, args []string, talk string) error {
	err = fmt.Errorf("run ramaria %s: %w", strings.Join(args, " "), err)
	if talk = strings.TrimSpace(talk); talk != "" {
		return fmt.Errorf("%w\n%s", err, talk)
	}
	if _, missing := exec.LookPath(program); missing != nil {
		return fmt.Errorf("%w\nhint: put ramaria into PATH, or its path into %s; or begin the command with: ramaria run --", err, EnvProgram)
	}
	return err
}
