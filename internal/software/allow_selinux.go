package software

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// daemonType is the SELinux type of packaged database servers. A service that starts a program of this type has it run
	// in mysqld_t, which may use /var/lib/mysql, not a directory in shared memory. Whom a user starts stays in the domain
	// of the user.
	daemonType = "mysqld_exec_t"
	// moduleName is the name of the policy module, and moduleFile has the text of the one that is loaded.
	moduleName = "ramaria"
	moduleFile = "/etc/selinux/" + moduleName + ".cil"
	// moduleDir begins the lines that say what a module is for.
	moduleDir = "; directory "
	// moduleMark is what the labels of paths have when the module is loaded. Every module has this directory.
	moduleMark = "\n/run/ramaria(/.*)?\t"
)

// seLinuxModule is a module of the policy, of which there is one for all servers.
type seLinuxModule struct {
	host   host.Host
	daemon string
}

var _ AllowSubject = seLinuxModule{}

// seLinuxConfines reports whether a policy confines the program at real.
func seLinuxConfines(h host.Host, real string) bool {
	return h.SELinuxEnforcing() && h.SELinuxType(real) == daemonType
}

// seLinuxAllows reports whether the module is loaded. The store of modules is for root only, the labels are for all.
func seLinuxAllows(h host.Host) bool {
	text, err := os.ReadFile(h.SELinuxContexts())
	return err == nil && strings.Contains("\n"+string(text), moduleMark)
}

// Describe tells whose rules these are.
func (s seLinuxModule) Describe() (daemon, profile, file string) {
	return s.daemon, "SELinux type " + daemonType, moduleFile
}

// Allow writes the module, has the policy take it, and labels what is there.
func (s seLinuxModule) Allow(ctx context.Context, dirs []string) (changed bool, err error) {
	there, err := s.directories()
	if err != nil {
		return false, err
	}
	all := slices.Concat(there, dirs)
	slices.Sort(all)
	all = slices.Compact(all)
	if slices.Equal(all, there) && seLinuxAllows(s.host) {
		return false, nil
	}
	text := s.module(all)
	if err := install(ctx, text); err != nil {
		return false, err
	}
	if err := writeLocal(filepath.Join(s.host.Root, moduleFile), &text); err != nil {
		return false, err
	}
	return true, s.label(ctx, all)
}

// Disallow removes the module, and labels what is there as the policy has it then.
func (s seLinuxModule) Disallow(ctx context.Context) (changed bool, err error) {
	dirs, err := s.directories()
	loaded := seLinuxAllows(s.host)
	if err != nil || dirs == nil && !loaded {
		return false, err
	}
	if loaded {
		if err := ofPolicy(ctx, "semodule", "--remove", moduleName); err != nil {
			return false, err
		}
	}
	return true, errors.Join(writeLocal(filepath.Join(s.host.Root, moduleFile), nil), s.label(ctx, dirs))
}

// directories are those that the module is for, nil if there is none.
func (s seLinuxModule) directories() (dirs []string, err error) {
	text, err := readLocal(filepath.Join(s.host.Root, moduleFile))
	if err != nil || text == nil {
		return nil, err
	}
	for line := range strings.Lines(*text) {
		if dir, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), moduleDir); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// install has the policy take a module. semodule may read a file of root's in /tmp, not one beside the policy.
func install(ctx context.Context, text string) (err error) {
	tmp, err := os.MkdirTemp("", ".ramaria-selinux-")
	if err != nil {
		return fmt.Errorf("write SELinux module: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	path := filepath.Join(tmp, moduleName+".cil")
	const readable = 0o600
	if err := os.WriteFile(path, []byte(text), readable); err != nil {
		return fmt.Errorf("write SELinux module: %w", err)
	}
	return ofPolicy(ctx, "semodule", "--install", path)
}

// ofPolicy runs a program of the package policycoreutils.
func ofPolicy(ctx context.Context, program string, args ...string) error {
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s\nhint: %s is of the package policycoreutils", program, args[0], err, strings.TrimSpace(string(out)), program)
	}
	return nil
}

// label gives what lies in directories the labels of the policy.
func (s seLinuxModule) label(ctx context.Context, dirs []string) error {
	for _, dir := range dirs {
		paths, err := sys.Glob(filepath.Join(s.host.Root, filepath.Dir(dir)), filepath.Base(dir))
		if err != nil {
			return fmt.Errorf("label %s: %w", dir, err)
		}
		for _, path := range paths {
			if err := ofPolicy(ctx, "restorecon", "-R", path); err != nil {
				return err
			}
		}
	}
	return nil
}

// module is the text of the module for directories, in the language of
// https://github.com/SELinuxProject/selinux/tree/main/secilc/docs. Policies of distributions differ in their types: what
// names one that is not there is left out.
func (s seLinuxModule) module(dirs []string) string {
	var b strings.Builder
	b.WriteString("; Lets mysqld_t reach the instances of Ramaria. To take this away: ramaria server disallow\n")
	for _, dir := range dirs {
		b.WriteString(moduleDir + dir + "\n")
	}
	b.WriteString("\n; What is there is a server's data, and so is what root makes there, in a shell or by a service.\n")
	n := 0
	optional := func(rule string) {
		n++
		fmt.Fprintf(&b, "(optional ramaria_%d %s)\n", n, rule)
	}
	for _, dir := range dirs {
		fmt.Fprintf(&b, "(filecon \"%s(/.*)?\" any (system_u object_r mysqld_db_t ((s0) (s0))))\n", pathPattern(dir))
		for _, domain := range []string{"initrc_t", "unconfined_t"} {
			if parent := s.typeAbove(dir); parent != "" {
				optional(fmt.Sprintf("(typetransition %s %s dir %q mysqld_db_t)", domain, parent, strings.ReplaceAll(filepath.Base(dir), "*", "0")))
			}
		}
	}
	b.WriteString("\n; Sockets lie beside the data, and each instance has a port of its own.\n")
	b.WriteString("(allow mysqld_t mysqld_db_t (sock_file (create getattr setattr write unlink)))\n")
	b.WriteString("(allow mysqld_t unreserved_port_t (tcp_socket (name_bind)))\n")
	b.WriteString("\n; mkfs.xfs makes a volume in a file of a service, which it opens by its descriptor.\n")
	optional("(allow fsadm_t initrc_runtime_t (file (getattr ioctl lock open read write)))")
	b.WriteString("\n; After a boot a service may be the first to need XFS, whose module the kernel loads then.\n")
	optional("(allow initrc_t kernel_t (system (module_request)))")
	return b.String()
}

// typeAbove is the type of the directory that dir is in, or will be.
func (s seLinuxModule) typeAbove(dir string) string {
	for dir != "/" {
		dir = filepath.Dir(dir)
		if t := s.host.SELinuxType(dir); t != "" {
			return t
		}
	}
	return ""
}

// pathPattern is the expression for a path in which * stands for any name.
func pathPattern(path string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(path), `\*`, `[^/]*`)
}
