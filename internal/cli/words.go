package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/engine"

	"github.com/ramaria-db/ramaria/internal/server"
)

// words is what an error says on the terminal. What Go's libraries say of their own accord is put
// as a user sees it, here for all commands: the end of ctx is an interruption, and a permission that
// lacks gets a hint.
func (a *app) words(ctx context.Context, err error) string {
	text := strings.TrimSpace(err.Error())
	if ctx.Err() != nil {
		const canceled = "context canceled"
		if strings.Contains(text, "interrupted") {
			text = strings.ReplaceAll(text, ": "+canceled, "")
		}
		text = strings.ReplaceAll(text, canceled, "interrupted")
	}
	if errors.Is(err, engine.ErrVolumeRemoved) {
		text += "\nhint: " + a.sameCommand() + " makes the volume again"
	}
	if errors.Is(err, fs.ErrPermission) && !strings.Contains(text, "\nhint: ") {
		text += "\nhint: " + a.permissionHint(err)
	}
	if errors.Is(err, client.ErrNoServer) || errors.Is(err, fs.ErrPermission) {
		text = a.elsewhere(text)
	}
	return text
}

// sameCommand is the command line once more, for a shell.
func (a *app) sameCommand() string {
	words := []string{"ramaria"}
	for _, arg := range a.args {
		words = append(words, server.ShellWord(arg))
	}
	return strings.Join(words, " ")
}

// permissionHint tells what to do about a path that the user may not use: one of Ramaria's own places
// can be chosen otherwise, one that the user has named cannot.
func (a *app) permissionHint(err error) string {
	var at *fs.PathError
	if !errors.As(err, &at) || !filepath.IsAbs(at.Path) || a.isPlace(at.Path) {
		return "ramaria doctor looks at the places; --home DIR chooses others"
	}
	return fmt.Sprintf("this command runs as uid %d; namei -l %s shows what keeps it out", a.engine.UID, server.ShellWord(at.Path))
}

// isPlace reports whether a path is one of Ramaria's places, in one, or on the way to one.
func (a *app) isPlace(path string) bool {
	for _, place := range []string{a.engine.Home, a.engine.Places.Cache, a.engine.Places.State, a.engine.Places.Shm, a.engine.Places.Disk, a.engine.Places.Mounts} {
		if place != "" && (within(path, place) || within(place, path)) {
			return true
		}
	}
	return false
}

// within reports whether a path is dir or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// flagWords puts what is wrong with a flag's value in words.
func flagWords(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	cause := errors.Unwrap(invalid)
	var number *strconv.NumError
	var why string
	switch {
	case invalid.GetFlag().Value.Type() == "duration":
		why = "it is not a time such as 90s, 10m or 2h"
	case !errors.As(cause, &number):
		return err.Error()
	case errors.Is(number, strconv.ErrRange):
		why = "the number is too large"
	case number.Func == "ParseBool":
		why = "it is neither true nor false"
	default:
		why = "it is not a number"
	}
	return strings.TrimSuffix(err.Error(), cause.Error()) + why
}
