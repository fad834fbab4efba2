package software

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// unpackDebs unpacks the files of the packages that are needed, by their names, a
// few packages at a time, since most of the time goes into decompression.
func unpackDebs(ctx context.Context, dpkg string, debs []string, needed func(name string) bool, root string, at func(float64)) (err error) {
	u, err := newUnpacker(root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.close()) }()
	var mu sync.Mutex // guards done and at
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, deb := range debs {
		group.Go(func() error {
			t := command{argv: []string{dpkg, "--fsys-tarfile", deb}, env: aptEnv(), stdout: func(r io.Reader) error { return u.tar(r, needed) }}
			if _, talk, err := t.run(ctx); err != nil {
				return fmt.Errorf("%s: %w %s", filepath.Base(deb), err, firstLine(talk))
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			at(float64(done) / float64(len(debs)))
			return nil
		})
	}
	return group.Wait()
}

// tar writes what is needed of the stream.
func (u *unpacker) tar(stream io.Reader, needed func(name string) bool) error {
	t := tar.NewReader(stream)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, stream) // padding, or the writer gets SIGPIPE
			return err
		}
		if err != nil {
			return err
		}
		name, ok := localName(h.Name)
		if !ok || !needed(name) {
			continue
		}
		switch h.Typeflag {
		case tar.TypeReg:
			err = u.file(name, h.Mode&0o111 != 0, t)
		case tar.TypeSymlink:
			err = u.link(name, h.Linkname)
		case tar.TypeLink:
			target, _ := localName(h.Linkname)
			err = u.hardLink(name, target)
		}
		if err != nil {
			return err
		}
	}
}

var (
	sharedLibrary = regexp.MustCompile(`\.so(\.[0-9]\w*)*$`) // libaio.so.1t64 is one
	libraryDir    = regexp.MustCompile(`^(usr/)?lib(32|64|x32)?(/|$)`)

	// uselessPlugin matches plugins of MySQL that a server for one machine has no use
	// for, 43 MB: those by which clients log in at other places and report there, the
	// components of groups, and the examples.
	uselessPlugin = regexp.MustCompile(`^usr/lib/(mysql|[^/]+/mysql)/plugin/(authentication_\w+_client|component_telemetry|telemetry_client|component_group_replication\w*|mypluglib|adt_null|\w*(test|example)\w*)\.so$`)
)

// neededOfPackage keeps shared libraries, the server's own files and programs:
// about 60 of the 90 MB.
func neededOfPackage(name string) bool {
	switch dir := path.Dir(name); {
	case dir == "usr/bin" || dir == "usr/sbin" || dir == "usr/libexec":
		return neededProgram(path.Base(name))
	case uselessPlugin.MatchString(name):
		return false
	case underAny(name, "usr/share/mysql", "usr/share/mariadb", "usr/lib/mysql", "usr/lib/mariadb"):
		return true
	}
	return neededLibrary(name)
}

// neededLibrary keeps shared libraries, the loader among them. Converters of
// character sets are glibc's, which nothing of ours uses.
func neededLibrary(name string) bool {
	return libraryDir.MatchString(name) && sharedLibrary.MatchString(name) && path.Base(path.Dir(name)) != "gconv"
}

func underAny(name string, dirs ...string) bool {
	for _, dir := range dirs {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}
