package software

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

// ErrNoTool says that a tool is neither installed nor fetched and could not be
// fetched now, for whatever reason but the end of the caller's context.
var ErrNoTool = errors.New("tool not available")

// Tool is a program of the distribution that Ramaria uses besides servers. Those
// that there are stand below; a fetched one is kept beside the servers.
type Tool struct {
	// Program is what it is called, and Package what holds it in any distribution.
	Program, Package string

	// without are packages that it does not need though its own depends on them.
	without []string
	// data is the directory below usr/share that it needs, or "".
	data string
	// env is what a fetched one needs in its environment; toolRoot stands for the
	// directory that it was unpacked into, and a * for the name of one below it, without which
	// the variable is left out.
	env []string
	// check are arguments with which it works without doing anything.
	check []string
}

// toolRoot stands for the directory of a fetched tool in Tool.env.
const toolRoot = "@root@"

// The tools. All figures are of Debian 12 on amd64 over a fast network; beside them
// every fetch brings the package lists, 10 MB, and takes up to 135 MB of disk for its
// time. Without a network it fails after 1 s; where one takes connections and never
// answers, after 2 minutes with three suites.
var (
	// MkfsXFS makes XFS file systems.
	//
	// Fetching it takes 2.0 s and brings 5.3 MB of packages; 8 MB stay on disk.
	// Python and ICU are for xfs_scrub; with them it would bring 28.6 MB. ICU's package is
	// named after its version: here are those of Ubuntu 22.04, Debian 12, Ubuntu 24.04
	// and Debian 13; another one is brought along.
	MkfsXFS = Tool{
		Program: "mkfs.xfs", Package: "xfsprogs",
		without: []string{"python3", "libicu70", "libicu72", "libicu74", "libicu76"},
		check:   []string{"-V"},
	}
	// Sysbench runs benchmarks. A fetched one finds its scripts (oltp_update_index)
	// by name if it gets Program.Env.
	//
	// Fetching it takes 2.2 s and brings 11.0 MB of packages; 23 MB stay on disk.
	Sysbench = Tool{
		Program: "sysbench", Package: "sysbench", data: "sysbench",
		// The second has what MySQL's accounts log in with.
		env:   []string{"LUA_PATH=" + toolRoot + "/usr/share/sysbench/?.lua;;", "MARIADB_PLUGIN_DIR=" + toolRoot + "/usr/lib/*/libmariadb3/plugin"},
		check: []string{"oltp_update_index", "help"},
	}
)

// MariaDBBackup makes a backup of MariaDB's files one that a server starts on.
//
// Fetching it brings 45 MB with the lists and the client that its package needs; 44 MB stay on disk. A backup is
// prepared by the series that made it, or a later one.
var MariaDBBackup = Tool{
	Program: "mariadb-backup", Package: "mariadb-backup",
	check: []string{"--version"},
}

// Tool returns the program to use for t: of PATH and the usual directories (those of
// root's programs too), else of the cache, else fetched, as servers are and with
// the same limits. Its Argv may begin with a loader, and its Env has to be added to
// the environment that it is run in. Errors are ErrNoTool unless ctx has ended; a
// full disk is a NoRoomError too.
func (f *Finder) Tool(ctx context.Context, t Tool) (server.Program, error) {
	if p := findProgram(f.searchDirs(), []string{t.Program}); p.Argv != nil {
		return p, nil
	}
	var passed []PassedOver
	cached := func() (k *toolkit, ok bool) {
		k, passed = f.cachedTool(t)
		return k, k != nil
	}
	if k, ok := cached(); ok {
		return k.Program, nil
	}
	if !f.fetching() {
		return server.Program{}, f.noTool(t, "fetching is switched off", passed, fetchFailure{})
	}
	k, err := fetchJob[*toolkit]{
		text: t.Program, kind: "tool", dir: f.tools(), cached: cached,
		methods: []method[*toolkit]{{methodApt, func(ctx context.Context, work string, p *progress) (*toolkit, error) {
			return f.fetchTool(ctx, t, work, p)
		}}},
		slow:   "try again, or " + f.toolHint(t),
		failed: func(why fetchFailure) error { return f.noTool(t, "it could not be fetched"+why.since(), passed, why) },
	}.fill(ctx, f)
	switch {
	case err == nil:
		return k.Program, nil
	case ctx.Err() != nil || errors.Is(err, ErrNoTool):
		return server.Program{}, err
	}
	text := err.Error()
	if !strings.Contains(text, "\nhint: ") {
		text += "\nhint: " + f.toolHint(t)
	}
	return server.Program{}, &fetchError{text: text, causes: []error{ErrNoTool, err}}
}

// noTool is the error when there is no tool.
func (f *Finder) noTool(t Tool, reason string, passed []PassedOver, failed fetchFailure) error {
	return &fetchError{
		text: fmt.Sprintf("find %s: it is not installed, and %s%s%s\nhint: %s",
			t.Program, reason, passedOverText(passed), strings.Join(failed.lines, ""), f.toolHint(t)),
		causes: append([]error{ErrNoTool}, failed.causes...),
	}
}

// toolHint returns the command that installs the tool's package on this machine, or
// all such commands if it cannot be told.
func (f *Finder) toolHint(t Tool) string {
	release := f.Host.OSRelease()
	var all []string
	for _, i := range installers {
		command := i.command + " " + t.Package
		if release.Is(i.id) {
			return command
		}
		if !slices.Contains(all, command) {
			all = append(all, command)
		}
	}
	return all[0] + " (" + strings.Join(all[1:], ", ") + ")"
}

// toolDirs are where packages have programs: Debian 12 has /sbin beside /usr.
var toolDirs = []string{"usr/bin", "usr/sbin", "bin", "sbin"}

// needs reports whether a file of the packages is kept, by its name.
func (t Tool) needs(name string) bool {
	return neededLibrary(name) ||
		path.Base(name) == t.Program && slices.Contains(toolDirs, path.Dir(name)) ||
		t.data != "" && underAny(name, "usr/share/"+t.data)
}
