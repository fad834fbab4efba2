package volume

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Table is what a mount of one's own takes: lines of /etc/fstab (fstab(5)), and steps around them for people.
type Table struct {
	Lines []string
	Steps []string
}

// TableFacts are what the lines of a Table rest on.
type TableFacts struct {
	// Dir is the mount point, an absolute path.
	Dir string
	// Account says whether the machine has an account mysql, and UID and GID are its numbers.
	Account  bool
	UID, GID int
	// NoSwap says that the kernel has tmpfs's noswap (Linux 6.4), and SELinux that it labels files.
	NoSwap, SELinux bool
}

// mysqlContext is the label of files that SELinux lets mysqld_t write.
const mysqlContext = "context=system_u:object_r:mysqld_db_t:s0"

// Fstab returns a mount of a kind.
func Fstab(spec Spec, f TableFacts) (Table, error) {
	size := ""
	if spec.Size > 0 {
		size = exactSize(spec.Size)
	}
	needsSize := fmt.Errorf("write fstab lines for %s: it needs a size\nhint: --volume %s:2G", spec.Kind, spec.Kind)
	var t Table
	switch spec.Kind {
	case Tmpfs, Auto:
		t.add("tmpfs", f.Dir, "tmpfs", f.inMemory(size, "mode=0750")...)
		if f.NoSwap {
			t.step("noswap needs Linux 6.4 or later, which this machine has.")
		}
	case Ramfs:
		if size != "" {
			return t, fmt.Errorf("write fstab lines for ramfs:%s: the kernel keeps no limit for ramfs\nhint: --volume ramfs, or --volume tmpfs:%s", size, size)
		}
		t.add("ramfs", f.Dir, "ramfs", f.options("mode=0750")...)
		t.step("the kernel keeps no limit for ramfs: what fills it takes all memory.")
		t.owner(f)
	case Zram:
		if size == "" {
			return t, needsSize
		}
		t.add("/dev/zram0", f.Dir, "xfs", f.options("nofail", "discard", "x-systemd.makefs")...)
		t.step("make the device at each boot, before it is mounted:",
			"  echo zram > /etc/modules-load.d/zram.conf",
			`  echo 'KERNEL=="zram0", ACTION=="add", ATTR{comp_algorithm}="zstd", ATTR{disksize}="`+size+`", TAG+="systemd"' > /etc/udev/rules.d/99-zram.rules`,
			"or, where zram-generator is installed, instead of the line, in /etc/systemd/zram-generator.conf:",
			"  [zram0]", "  zram-size = "+fmt.Sprint(spec.Size>>20), "  fs-type = xfs", "  mount-point = "+f.Dir,
			"another user of zram0, such as swap in RAM, needs another number.")
		t.owner(f)
	case XFS:
		if size == "" {
			return t, needsSize
		}
		ram := f.Dir + ".ram"
		file := ram + "/volume.xfs"
		t.add("tmpfs", ram, "tmpfs", TableFacts{NoSwap: f.NoSwap}.inMemory(size, "mode=0700")...)
		t.add(file, f.Dir, "xfs", f.options("loop", "nofail", "discard", "x-systemd.requires=ramaria-fstab-xfs.service")...)
		t.step("the file is made at each boot, in /etc/systemd/system/ramaria-fstab-xfs.service:",
			"  [Unit]", "  DefaultDependencies=no", "  RequiresMountsFor="+ram,
			"  [Service]", "  Type=oneshot", "  RemainAfterExit=yes",
			"  ExecStart=/usr/bin/truncate -s "+size+" "+file, "  ExecStart=/usr/sbin/mkfs.xfs -q "+file,
			"XFS takes 300M at least.")
		t.owner(f)
	default:
		return t, fmt.Errorf("write fstab lines for %s: it is a directory, and not mounted\nhint: --volume tmpfs, ramfs, zram:SIZE or xfs:SIZE", spec.Kind)
	}
	t.around(f)
	return t, nil
}

// inMemory are the options of a tmpfs. Huge pages would fill the holes of sparse files.
func (f TableFacts) inMemory(size, mode string) []string {
	if size == "" {
		size = "50%"
	}
	list := []string{"size=" + size, mode, "huge=never"}
	if f.NoSwap {
		list = append(list, "noswap")
	}
	if f.Account {
		list = append(list, fmt.Sprintf("uid=%d,gid=%d", f.UID, f.GID))
	}
	return f.options(list...)
}

// options are those of a kind, and what all have.
func (f TableFacts) options(own ...string) []string {
	own = append(own, "nosuid", "nodev", "noexec")
	if f.SELinux {
		own = append(own, mysqlContext)
	}
	return own
}

// escape writes a path as fstab(5) has it.
var escape = strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`)

func (t *Table) add(source, dir, kind string, options ...string) {
	t.Lines = append(t.Lines, strings.Join([]string{escape.Replace(source), escape.Replace(dir), kind, strings.Join(options, ","), "0", "0"}, "\t"))
}

func (t *Table) step(lines ...string) { t.Steps = append(t.Steps, lines...) }

// owner is for file systems that take no uid in their options.
func (t *Table) owner(f TableFacts) {
	t.step("its root belongs to root when it is new; have systemd-tmpfiles change that:",
		"  echo 'z "+f.Dir+" 0750 mysql mysql' > /etc/tmpfiles.d/"+strings.Trim(strings.ReplaceAll(f.Dir, "/", "-"), "-")+".conf")
}

// around says what servers of the distribution need besides.
func (t *Table) around(f TableFacts) {
	t.step("mkdir -p "+f.Dir+", and then mount "+f.Dir+". A reboot empties it: the server needs a new data directory each time.",
		"the server must start after it: systemctl edit mariadb (or mysql), with [Unit] RequiresMountsFor="+f.Dir,
		"AppArmor (Ubuntu's mysqld; Debian's mariadbd has an empty profile): /etc/apparmor.d/local/usr.sbin.mysqld gets",
		"  "+f.Dir+"/ r,", "  "+filepath.Join(f.Dir, "**")+" rwk,",
		"  and then apparmor_parser -r /etc/apparmor.d/usr.sbin.mysqld")
	if f.SELinux {
		t.step("SELinux: the line labels all files for mysqld (" + mysqlContext + ").")
	} else {
		t.step("SELinux, where it is on: the option "+mysqlContext+" labels the mount, or on xfs and zram",
			"  semanage fcontext -a -t mysqld_db_t '"+f.Dir+"(/.*)?' && restorecon -R "+f.Dir)
	}
	if !f.Account {
		t.step("there is no account mysql here: add uid=NUMBER,gid=NUMBER of the server's account, or chown the mount.")
	}
}

// NoSwapIn reports whether a release of Linux, as /proc/sys/kernel/osrelease has it, has tmpfs's noswap.
func NoSwapIn(release string) bool {
	var major, minor int
	_, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return err == nil && (major > 6 || major == 6 && minor >= 4)
}
