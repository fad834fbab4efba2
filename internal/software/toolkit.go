package software

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// toolkitFile describes a fetched tool, as descriptionFile does a server, in toolkitFormat.
const (
	toolkitFile   = "tool.json"
	toolkitFormat = 1
)

// toolkit is a fetched tool with all that it needs; it is also the content of
// tool.json.
type toolkit struct {
	Format  int            `json:"format"`
	Tool    string         `json:"tool"`
	Version string         `json:"version"` // of the package, without the epoch
	Dir     string         `json:"dir"`
	Program server.Program `json:"program"`
}

var _ artifact = (*toolkit)(nil)

// Name returns mkfs.xfs-6.1.0-1.
func (k *toolkit) Name() string { return k.Tool + "-" + k.Version }

func (k *toolkit) root() string { return k.Dir }

func (k *toolkit) rebase(dir string) {
	rebaseProgram(k.Program, k.Dir, dir)
	k.Dir = dir
}

func (k *toolkit) describe(dir string) error { return writeJSON(filepath.Join(dir, toolkitFile), k) }

// tools is the cache of fetched tools.
func (f *Finder) tools() string { return filepath.Join(f.Places.Cache, "tools") }

// cachedTool returns the fetched tool that can be used, or nil, and what was passed
// over.
func (f *Finder) cachedTool(t Tool) (*toolkit, []PassedOver) {
	entries, err := os.ReadDir(f.tools())
	if err != nil {
		return nil, nil // no cache yet; what else is wrong with it, fetching will tell
	}
	var passed []PassedOver
	for _, e := range slices.Backward(entries) {
		if !strings.HasPrefix(e.Name(), t.Program+"-") {
			continue
		}
		dir := filepath.Join(f.tools(), e.Name())
		k, err := loadTool(dir, t)
		if err == nil {
			return k, nil
		}
		passed = append(passed, PassedOver{dir, err.Error()})
	}
	return nil, passed
}

// loadTool reads the description of the fetched tool in dir.
func loadTool(dir string, t Tool) (*toolkit, error) {
	var k toolkit
	if err := readDescription(dir, toolkitFile, &k, &k.Format, toolkitFormat); err != nil {
		return nil, err
	}
	k.rebase(dir)
	if k.Tool != t.Program || !server.Executable(k.Program.Path()) {
		return nil, fmt.Errorf("its program %s is missing", t.Program)
	}
	k.Program.Env = t.environ(dir) // of this version, not of the one that fetched it
	return &k, nil
}

// fetchTool fetches the packages of the tool and checks that it runs.
func (f *Finder) fetchTool(ctx context.Context, t Tool, work string, p *progress) (*toolkit, error) {
	k := &toolkit{Format: toolkitFormat, Tool: t.Program}
	var err error
	k.Dir, err = f.unpackApt(ctx, f.tools(), aptRequest{
		pick: func(ctx context.Context, a *apt) ([]string, error) {
			offered, err := a.policy(ctx, t.Package)
			if err != nil {
				return nil, err
			}
			version, ok := offered[t.Package]
			if !ok {
				return nil, fmt.Errorf("%w %s", errNoCandidate, t.Package)
			}
			if _, rest, epoch := strings.Cut(version, ":"); epoch {
				version = rest
			}
			k.Version = version
			return []string{t.Package}, nil
		},
		without: t.without,
		needed:  t.needs,
	}, work, p)
	if err != nil {
		return nil, err
	}
	if k.Program, err = t.in(k.Dir); err != nil {
		return nil, err
	}
	if _, err := answer(ctx, k.Program, t.check...); err != nil {
		return nil, fmt.Errorf("verify: %s %s: %w", t.Program, strings.Join(t.check, " "), err)
	}
	return k, nil
}

// in returns the tool that was unpacked into root.
func (t Tool) in(root string) (server.Program, error) {
	var dirs []string
	for _, dir := range toolDirs {
		dirs = append(dirs, filepath.Join(root, dir))
	}
	found := findProgram(dirs, []string{t.Program})
	if found.Argv == nil {
		return found, fmt.Errorf("the packages hold no %s", t.Program)
	}
	p, err := ownLoader(root, found)
	p.Env = t.environ(root)
	return p, err
}

// environ is what a tool that was unpacked into root needs in its environment.
func (t Tool) environ(root string) []string {
	var env []string
	for _, e := range t.env {
		name, value, _ := strings.Cut(e, "=")
		if strings.Contains(value, "*") {
			found, err := sys.Glob(root, strings.TrimPrefix(value, toolRoot+"/"))
			if err != nil || len(found) == 0 {
				continue
			}
			value = found[0]
		}
		env = append(env, name+"="+strings.ReplaceAll(value, toolRoot, root))
	}
	return env
}
