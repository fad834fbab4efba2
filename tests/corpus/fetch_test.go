package corpus

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// maxTries bounds how often a registry is asked, and pause stands between.
	maxTries = 3
	pause    = 3 * time.Second
	// fetchTime bounds one try.
	fetchTime = 3 * time.Minute
)

// root is the root of this repository.
const root = "../.."

// cacheDir keeps packages between runs.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "ramaria-test", "corpus"), err
}

// text is the schema of a source. What is wrong with it is an error that names the package.
func (s source) text(ctx context.Context) (string, error) {
	dir := root
	if s.kind != "" {
		var err error
		if dir, err = s.fetch(ctx); err != nil {
			return "", fmt.Errorf("fetch %s %s: %w", s.kind, s.pkg, err)
		}
	}
	var out strings.Builder
	for _, pattern := range s.files {
		paths, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil || len(paths) == 0 {
			return "", fmt.Errorf("%s %s has no %s: %w", s.kind, s.pkg, pattern, cmpErr(err))
		}
		slices.Sort(paths)
		for _, path := range paths {
			b, err := read(path)
			if err != nil {
				return "", err
			}
			if s.goose {
				b, _, _ = bytes.Cut(b, []byte("-- +goose Down"))
			}
			fmt.Fprintf(&out, "%s\n", b)
		}
	}
	return strings.NewReplacer(s.edits...).Replace(out.String()), nil
}

func cmpErr(err error) error {
	if err == nil {
		return fs.ErrNotExist
	}
	return err
}

// read reads a file, which may be compressed.
func read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return b, err
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// checksum is what sums.txt has of a text.
func checksum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// fetchers have a registry's own client put a package into a directory, unpacked.
var fetchers = map[string]func(ctx context.Context, s source, dir string) error{
	"deb": func(ctx context.Context, s source, dir string) error {
		return errors.Join(run(ctx, dir, "apt-get", "-q", "download", s.pkg), unpack(ctx, dir, "*.deb", "dpkg-deb", "-x"))
	},
	"maven": func(ctx context.Context, s source, dir string) error {
		err := run(ctx, dir, "mvn", "-q", "-B", "dependency:copy", "-Dartifact="+s.pkg+":"+s.version, "-DoutputDirectory="+dir)
		if err != nil {
			return err
		}
		jars, _ := filepath.Glob(filepath.Join(dir, "*.jar")) // the pattern is right
		for _, jar := range jars {
			r, err := zip.OpenReader(jar)
			if err != nil {
				return err
			}
			err = errors.Join(copySQL(dir, r), r.Close(), os.Remove(jar))
			if err != nil {
				return err
			}
		}
		return nil
	},
	"npm": func(ctx context.Context, s source, dir string) error {
		return errors.Join(run(ctx, dir, "npm", "pack", "--silent", s.pkg+"@"+s.version), unpack(ctx, dir, "*.tgz", "tar", "--strip-components=1", "-xzf"))
	},
	"go": func(ctx context.Context, s source, dir string) error {
		cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", s.pkg+"@"+s.version)
		cmd.Dir = dir
		out, err := cmd.Output()
		var module struct{ Dir, Error string }
		if err := errors.Join(err, json.Unmarshal(out, &module)); err != nil || module.Error != "" {
			return fmt.Errorf("go mod download: %s: %w", module.Error, err)
		}
		return copySQL(dir, os.DirFS(module.Dir))
	},
	"pypi": fetchPython,
}

// fetch returns the directory of the package, unpacked.
func (s source) fetch(ctx context.Context) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, s.kind, strings.NewReplacer("/", "_", ":", "_").Replace(s.pkg+"-"+s.version))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	for try := 1; ; try++ {
		err := fetchInto(ctx, s, dir)
		if err == nil || try == maxTries || ctx.Err() != nil {
			return dir, err
		}
		time.Sleep(pause)
	}
}

// fetchInto makes the directory once it is complete.
func fetchInto(ctx context.Context, s source, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := fetchers[s.kind](ctx, s, tmp); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// run runs a program in a directory.
func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %.500s", name, args, err, out)
	}
	return nil
}

// unpack unpacks the one archive of a directory there, and removes it.
func unpack(ctx context.Context, dir, pattern, name string, args ...string) error {
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%d archives %s: %w", len(found), pattern, cmpErr(err))
	}
	args = append(args, found[0])
	if name == "dpkg-deb" {
		args = append(args, dir)
	}
	return errors.Join(run(ctx, dir, name, args...), os.Remove(found[0]))
}

// copySQL copies files of SQL, and nothing else.
func copySQL(dir string, from fs.FS) error {
	return fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".sql") {
			return err
		}
		b, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, b, 0o644))
	})
}
