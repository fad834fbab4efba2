// Command tools prints the directory that tests are to have first in PATH: that of mkfs.xfs,
// which is fetched as ramaria does where the system has none. With it tests of mounted volumes
// run on any machine. Nothing is printed where nothing is needed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/software"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	dir, err := tools(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "tools: %v\n", err)
		os.Exit(1)
	}
	if dir != "" {
		fmt.Println(dir)
	}
}

func tools(ctx context.Context) (dir string, err error) {
	servers, err := servertest.Directory()
	if err != nil {
		return "", err
	}
	if servers, err = filepath.Abs(servers); err != nil {
		return "", err
	}
	home, err := os.MkdirTemp("", "tools-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	p := host.Places{Cache: filepath.Join(home, "cache"), State: filepath.Join(home, "state")}
	if err := servertest.Link(servers, p); err != nil {
		return "", err
	}
	f := &software.Finder{Host: host.Host{}, Places: p, Memo: memo.Store{Dir: filepath.Join(p.State, "memo")}, Progress: os.Stderr}
	program, err := f.Tool(ctx, software.MkfsXFS)
	own := filepath.Join(p.Cache, "tools") + string(filepath.Separator)
	if err != nil || !strings.HasPrefix(program.Argv[0], own) { // the system's own
		return "", err
	}
	shared := filepath.Join(servers, servertest.ToolsDir)
	for _, words := range [][]string{program.Argv, program.Env} { // the shared directory is meant, not the way to it
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, own, shared+string(filepath.Separator))
		}
	}
	dir = filepath.Join(shared, "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	script := "#!/bin/sh\nexec " + program.Shell() + " \"$@\"\n"
	path := filepath.Join(dir, software.MkfsXFS.Program)
	if err := os.WriteFile(path+".new", []byte(script), 0o755); err != nil { // #nosec G306 -- a program for everybody
		return "", err
	}
	return dir, os.Rename(path+".new", path)
}
