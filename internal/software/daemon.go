package software

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unicode"

	"github.com/ramaria-db/ramaria/internal/server"
)

// notAProgram says why the file at path, which a user named, can be no daemon, and what to do about
// it; both are "" if it may be one. It runs nothing: mysqld_safe would start a server.
func notAProgram(path string) (why, hint string) {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no program at that path", "ramaria server ls shows the servers of this machine"
	case err != nil:
		return err.Error(), "name a program that this user may run"
	case fi.IsDir():
		return "it is a directory", daemonBelow(path)
	case !fi.Mode().IsRegular():
		return "it is not a file", daemonBelow(filepath.Dir(path))
	case otherTool(filepath.Base(path)):
		return filepath.Base(path) + " is not the server itself", daemonBelow(filepath.Dir(filepath.Dir(path)))
	case !server.Executable(path):
		return "it may not be executed", "chmod +x " + server.ShellQuote(path)
	case isScript(path):
		return errScript.Error(), "name the program that the script starts"
	}
	return "", ""
}

// daemonBelow is the hint that names a daemon below a directory, if there is one.
func daemonBelow(prefix string) string {
	for _, dir := range []string{"bin", "sbin", "libexec", "usr/sbin", "usr/libexec", "usr/bin", "."} {
		for _, name := range DaemonNames() {
			if path := filepath.Join(prefix, dir, name); server.Executable(path) {
				return "--server " + path
			}
		}
	}
	return "name the mariadbd or mysqld that lies in it"
}

// otherTool reports whether a program of that name belongs to a server without being it: a
// client (mysql, mariadb-dump), or a script around it (mysqld_safe). mysqld-debug is one.
func otherTool(name string) bool {
	for _, f := range server.Families {
		rest, ok := strings.CutPrefix(name, string(f.Flavour))
		if !ok {
			continue
		}
		if after, ok := strings.CutPrefix(rest, "d"); ok && !strings.ContainsFunc(first(after), unicode.IsLetter) {
			return strings.HasSuffix(after, "safe") || strings.HasSuffix(after, "multi") || strings.HasSuffix(after, "safe-helper")
		}
		return rest == "" || strings.ContainsFunc(first(rest), func(c rune) bool { return unicode.IsLetter(c) || c == '-' || c == '_' })
	}
	return false
}

func first(s string) string { return s[:min(1, len(s))] }

// errScript refuses scripts: a branch stops the process that ramaria has started, and a server that
// is a child of that would write on; and the server is kept to its own files, of which a script says
// nothing.
var errScript = errors.New("it is a script, and ramaria has to start the server itself: to stop it for a branch, and to keep it to its own files")

func isScript(path string) bool {
	r, err := os.Open(path)
	if err != nil {
		return false
	}
	defer r.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(r, head)
	return err == nil && string(head) == "#!"
}

// machines are the processors as Go names them.
var machines = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_RISCV: "riscv64", elf.EM_PPC64: "ppc64le", elf.EM_S390: "s390x"}

// notRun says more of why the kernel did not run the program at path.
func notRun(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		e, bad := elf.Open(path)
		if bad != nil {
			return fmt.Errorf("it is not a program of Linux: %w", err)
		}
		defer e.Close()
		if name := machines[e.Machine]; name != runtime.GOARCH {
			if name == "" {
				name = e.Machine.String()
			}
			return fmt.Errorf("it is a program for %s, and this machine is %s", name, runtime.GOARCH)
		}
	case errors.Is(err, fs.ErrNotExist):
		if loader, bad := interpreterOf(path); bad == nil && loader != "" {
			return fmt.Errorf("its loader %s is not on this machine", loader)
		}
	}
	return err
}
