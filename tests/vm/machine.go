package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// bootPatience is how long a machine may run.
	bootPatience = 10 * time.Minute
	// packages are in every machine.
	packages = "systemd,systemd-sysv,libpam-systemd,dbus,dbus-user-session,linux-image-cloud-amd64,initramfs-tools,mariadb-server,apparmor,apparmor-utils,xfsprogs,e2fsprogs,python3-minimal,procps,iproute2,kmod,udev"
	// scriptSize is the size of the disk that a script is passed on.
	scriptSize = 1 << 20
)

const unit = `[Unit]
Description=script of a test
After=multi-user.target mariadb.service
[Service]
Type=oneshot
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
ExecStart=/usr/local/sbin/vmtest
[Install]
WantedBy=graphical.target
`

const starter = `#!/bin/sh
echo "VM BEGIN $(cut -d' ' -f1 /proc/uptime)"
dd if=/dev/vdb bs=64k count=4 2>/dev/null | tr -d '\0' > /run/script
bash /run/script
echo "VM END $?"
sync
systemctl poweroff
`

// build is how mmdebstrap and mke2fs make a machine; $1 is the suite, $2 the packages, $3 the directory.
const build = `set -e
mmdebstrap --quiet --aptopt='Acquire::Check-Valid-Until "false"' --variant=important --mode=root \
	--aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
	--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt=force-unsafe-io \
	--include="$2" \
	--customize-hook="cp $3/vmtest.service \$1/etc/systemd/system/; cp $3/vmtest \$1/usr/local/sbin/" \
	--customize-hook='chroot "$1" systemctl enable vmtest.service; chroot "$1" passwd -d root' \
	--customize-hook='echo "/dev/vda / ext4 rw,errors=remount-ro 0 1" > "$1/etc/fstab"; echo vm > "$1/etc/hostname"; echo uninitialized > "$1/etc/machine-id"' \
	--customize-hook="cp \$1/boot/vmlinuz-* $3/vmlinuz; cp \$1/boot/initrd.img-* $3/initrd" \
	"$1" "$3/root.tar"
mkdir "$3/root" && tar -C "$3/root" -xf "$3/root.tar"
mke2fs -q -t ext4 -d "$3/root" -L root "$3/base.ext4" 6G
rm -rf "$3/root" "$3/root.tar"
`

// machine is one with a disk of its own.
type machine struct {
	dir     string
	cpus    string
	verbose bool
}

// machine returns a machine of a suite as it was installed, with the program in it. What was installed is kept for the next time.
func (l *lab) machine(ctx context.Context, suite string, s setup) (*machine, error) {
	include := packages
	if s.packages != "" {
		include += "," + s.packages
	}
	dir := strings.Trim(suite+"-"+strings.ReplaceAll(s.packages, ",", "+"), "-")
	m := &machine{dir: filepath.Join(l.work, dir), cpus: cmp.Or(s.cpus, "2"), verbose: l.verbose}
	if _, err := os.Stat(m.path("base.ext4")); err != nil {
		if err := m.install(ctx, suite, include); err != nil {
			return nil, err
		}
	}
	script := `set -e
cp --sparse=always "$1/base.ext4" "$1/root.ext4"
mkdir -p "$1/mnt" && mount -o loop "$1/root.ext4" "$1/mnt"
cp "$2" "$1/mnt/usr/local/bin/ramaria"
umount "$1/mnt"`
	return m, run(ctx, script, m.dir, l.ramaria)
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

func (m *machine) install(ctx context.Context, suite, include string) error {
	if err := errors.Join(os.RemoveAll(m.dir), os.MkdirAll(m.dir, 0o700)); err != nil {
		return err
	}
	const executable = 0o755
	err := errors.Join(os.WriteFile(m.path("vmtest.service"), []byte(unit), 0o600), os.WriteFile(m.path("vmtest"), []byte(starter), executable))
	if err != nil {
		return err
	}
	fmt.Printf("  installing %s\n", m.dir)
	return run(ctx, build, suite, include, m.dir)
}

func run(ctx context.Context, script string, args ...string) error {
	out, err := exec.CommandContext(ctx, "bash", append([]string{"-c", script, "bash"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// boot runs a script in the machine and returns how many checks it made. arguments are for the kernel.
func (m *machine) boot(ctx context.Context, script, arguments string) (checks int, err error) {
	disk := make([]byte, scriptSize)
	if copy(disk, script) == scriptSize {
		return 0, errors.New("the script is too long")
	}
	if err := os.WriteFile(m.path("script"), disk, 0o600); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, bootPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", m.cpus, "-m", "3G",
		"-nodefaults", "-nographic", "-serial", "stdio", "-monitor", "none", "-no-reboot", "-kernel", m.path("vmlinuz"), "-initrd", m.path("initrd"),
		"-append", "root=/dev/vda rw console=ttyS0 quiet no_timer_check systemd.show_status=0 systemd.mask=serial-getty@ttyS0.service "+arguments,
		"-drive", "file="+m.path("root.ext4")+",if=virtio,format=raw,cache=writeback", "-drive", "file="+m.path("script")+",if=virtio,format=raw,readonly=on",
		"-device", "virtio-rng-pci")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	serial, err := os.Create(m.path("serial.log")) // all of it, for who looks for a cause
	if err != nil {
		return 0, err
	}
	defer serial.Close()
	l := &listener{verbose: m.verbose, cut: func() { _ = cmd.Process.Kill() }}
	in := bufio.NewScanner(out)
	for in.Scan() {
		fmt.Fprintln(serial, in.Text())
		l.hear(strings.TrimRight(in.Text(), "\r"))
	}
	_ = cmd.Wait() // it powers off, or is killed; what it said counts
	if ctx.Err() != nil {
		l.errs = append(l.errs, fmt.Errorf("it did not end within %s", bootPatience))
	} else if !l.ended {
		l.errs = append(l.errs, errors.New("it ended before its script did"))
	}
	return l.checks, errors.Join(l.errs...)
}

// listener listens to a machine.
type listener struct {
	verbose bool
	cut     func()
	// began and ended say whether the script did; a power cut ends it.
	began, ended bool
	checks       int
	errs         []error
}

func (l *listener) hear(line string) {
	switch {
	case strings.Contains(line, "VM BEGIN"): // behind what the firmware has written
		l.began = true
	case !l.began:
		return // of the kernel
	case strings.HasPrefix(line, "VM END"):
		l.ended = true
		if line != "VM END 0" {
			l.errs = append(l.errs, fmt.Errorf("the script failed: %s", line))
		}
	case line == "POWER CUT":
		l.ended = true
		l.cut()
	case strings.HasPrefix(line, "ok - "):
		l.checks++
	case strings.HasPrefix(line, "FAILED - "):
		l.errs = append(l.errs, errors.New(line))
	}
	if l.verbose || strings.HasPrefix(line, "ok - ") || strings.HasPrefix(line, "# ") {
		fmt.Printf("    %s\n", line)
	}
}
