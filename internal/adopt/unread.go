package adopt

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/ramaria-db/ramaria/internal/server"
)

// optionFiles are where servers look for options, unless they are told otherwise.
// https://mariadb.com/kb/en/configuring-mariadb-with-option-files/
var optionFiles = []string{"/etc/my.cnf", "/etc/mysql/my.cnf"}

// mostIncludes is how deep option files include others, as servers have it.
const mostIncludes = 10

// Unread are the option files of the process that its account may not read. A server that root starts reads them before it
// becomes that account; Options, which asks as the account, does not have them.
func (p Process) Unread() ([]string, error) {
	c, err := p.account()
	if err != nil || c == nil {
		return nil, err
	}
	files := optionFiles
	for _, arg := range p.Args {
		if arg == "--no-defaults" {
			return nil, nil
		}
		if file, ok := strings.CutPrefix(arg, "--defaults-file="); ok {
			files = []string{absoluteIn(p.Dir, file)}
			break
		}
		if file, ok := strings.CutPrefix(arg, "--defaults-extra-file="); ok {
			files = append(slices.Clone(files), absoluteIn(p.Dir, file))
		}
	}
	return unread(server.Account{UID: int(c.Uid), GID: int(c.Gid)}, files, mostIncludes), nil
}

func absoluteIn(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// unread are those of files, and of what they include, that an account may not read.
func unread(a server.Account, files []string, depth int) (list []string) {
	for _, path := range files {
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe has no end
		if err != nil {
			continue // there is none, or it is not for us either
		}
		if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
			_ = f.Close()
			continue // a directory, or a pipe, whose text is gone once it was read
		}
		if !May(a, path, 4) {
			list = append(list, path)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() && depth > 0 {
			word, what := directive(lines.Text())
			var more []string
			switch word {
			case "!include":
				more = []string{what}
			case "!includedir":
				entries, _ := os.ReadDir(what)
				for _, e := range entries {
					if ext := filepath.Ext(e.Name()); ext == ".cnf" || ext == ".ini" {
						more = append(more, filepath.Join(what, e.Name()))
					}
				}
			}
			list = append(list, unread(a, more, depth-1)...)
		}
		_ = f.Close()
	}
	return list
}

// directive are the first word of a line and what follows it, with blanks or tabs between the two.
func directive(line string) (word, what string) {
	line = strings.TrimSpace(line)
	end := strings.IndexFunc(line, unicode.IsSpace)
	if end < 0 {
		return line, ""
	}
	return line[:end], strings.TrimSpace(line[end:])
}
