// Command powercut cuts the power of a virtual machine in which a durable instance is written to, again
// and again, and compares what is there after each start with what the writers were told. It is run by
// hand: a cut takes a quarter of a minute under software emulation.
//
//	go run ./tests/powercut -ramaria bin/ramaria -server DIR -kernel DIR -work DIR -cuts 50
//
// It needs qemu-system-x86_64, busybox (static), cpio and mke2fs. -server is a server as ramaria
// fetches them; -kernel is an unpacked Debian package linux-image-*-cloud-amd64.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

type lab struct {
	ramaria, server, kernel, work string
	cuts                          int
}

func main() {
	var l lab
	flag.StringVar(&l.ramaria, "ramaria", "bin/ramaria", "the program")
	flag.StringVar(&l.server, "server", "", "directory of a server")
	flag.StringVar(&l.kernel, "kernel", "", "directory of an unpacked kernel package")
	flag.StringVar(&l.work, "work", "", "directory for the machine")
	flag.IntVar(&l.cuts, "cuts", 50, "how often the power is cut")
	flag.Parse()
	if err := l.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "powercut:", err)
		os.Exit(1)
	}
}

func (l *lab) run(ctx context.Context) error {
	if err := l.build(ctx); err != nil {
		return err
	}
	seen := &ledger{}
	for cut := 1; cut <= l.cuts+1; cut++ {
		last := cut > l.cuts // it is only read
		if err := l.boot(ctx, seen, last); err != nil {
			return fmt.Errorf("after cut %d: %w", cut-1, err)
		}
	}
	fmt.Printf("%d cuts, %d recoveries, %d acknowledged transactions, none lost\n", l.cuts, seen.recoveries, seen.total())
	return nil
}

// modules are what a cloud kernel needs to see its disk, in this order.
var modules = []string{"virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "virtio_blk"}

const initScript = `#!/bin/busybox sh
/bin/busybox --install -s /bin
mkdir -p /proc /sys /dev /disk /run /tmp /root
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
mkdir -p /dev/shm; mount -t tmpfs -o size=1200m shm /dev/shm; mount -t tmpfs run /run
for m in %s; do insmod /lib/$m.ko; done
ip link set lo up
until [ -b /dev/vda ]; do sleep 0.1; done
mount -t ext4 /dev/vda /disk || echo FAILED to mount
export PATH=/bin:/disk/bin RAMARIA_HOME=/disk/home HOME=/root
exec /disk/bin/guest
`

// build makes the initial RAM disk and the disk.
func (l *lab) build(ctx context.Context) error {
	root, disk := filepath.Join(l.work, "initrd"), filepath.Join(l.work, "disk")
	script := fmt.Sprintf(initScript, strings.Join(modules, " "))
	steps := [][]string{
		{"rm", "-rf", root, disk},
		{"mkdir", "-p", root + "/bin", root + "/lib", root + "/etc", disk + "/bin", disk + "/home/cache/servers"},
		{"sh", "-c", `cp "$(command -v busybox)" "$1/bin/busybox"`, "sh", root},
		{"cp", l.ramaria, disk + "/bin/ramaria"},
		{"cp", "-a", l.server, disk + "/home/cache/servers/"},
		{"env", "CGO_ENABLED=0", "go", "build", "-o", disk + "/bin/guest", "./tests/powercut/guest"},
	}
	for _, m := range modules {
		steps = append(steps, []string{"sh", "-c", `cp "$(find "$1" -name "$2.ko" | head -1)" "$3/lib/" 2>/dev/null || echo "$2 is built in"`, "sh", l.kernel, m, root})
	}
	steps = append(steps,
		[]string{"sh", "-c", `printf %s "$2" > "$1/init" && chmod +x "$1/init"`, "sh", root, script},
		[]string{"sh", "-c", `cd "$1" && find . | cpio -o -H newc --quiet > ../initrd.img`, "sh", root},
		[]string{"rm", "-f", l.image()},
		[]string{"mke2fs", "-q", "-t", "ext4", "-d", disk, l.image(), "3G"},
	)
	for _, argv := range steps {
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
		}
	}
	return nil
}

func (l *lab) image() string { return filepath.Join(l.work, "disk.ext4") }

const (
	// bootPatience is how long the instance may take to be there.
	bootPatience = 5 * time.Minute
	// mostWriting bounds how long is written before a cut.
	mostWriting = 12 * time.Second
	// early is the part of cuts that come before the instance is there: in recovery.
	early = 0.3
)

// boot starts the machine, compares, lets it write, and cuts its power.
func (l *lab) boot(ctx context.Context, seen *ledger, last bool) error {
	kernels, err := filepath.Glob(filepath.Join(l.kernel, "boot/vmlinuz-*"))
	if err != nil || len(kernels) == 0 {
		return errors.Join(err, errors.New("there is no kernel"))
	}
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "2G",
		"-nodefaults", "-nographic", "-serial", "stdio", "-monitor", "none", "-no-reboot", "-kernel", kernels[0], "-initrd", filepath.Join(l.work, "initrd.img"),
		"-append", "console=ttyS0 quiet panic=-1 mitigations=off", "-drive", "file="+l.image()+",if=virtio,format=raw,cache=writeback", "-device", "virtio-rng-pci")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c := &console{lines: make(chan string, 1024)}
	go c.read(out)
	err = l.watch(c, seen, last)
	// The power cut.
	_ = cmd.Process.Kill()
	for line := range c.lines { // what it said before that counts
		err = errors.Join(err, seen.note(line))
	}
	_ = cmd.Wait()
	return err
}

// watch follows what a machine says until its power is to be cut.
func (l *lab) watch(c *console, seen *ledger, last bool) error {
	began := time.Now()
	limit := bootPatience
	if !last && seen.recoveries > 1 && rand.Float64() < early { // #nosec G404 -- no secret
		limit = time.Duration(rand.Float64() * float64(seen.boot)) // #nosec G404 -- likewise
	}
	end := time.After(limit)
	for {
		select {
		case line, open := <-c.lines:
			if !open {
				return errors.New("the machine ended by itself")
			}
			if err := seen.note(line); err != nil {
				return err
			}
			if line != "READY" {
				continue
			}
			if err := seen.compare(); err != nil {
				return err
			}
			seen.boot = time.Since(began)
			fmt.Printf("%d: there after %s, %d acknowledged transactions are all there\n", seen.recoveries, seen.boot.Round(time.Second), seen.total())
			if last {
				return nil
			}
			end = time.After(time.Duration(rand.Float64() * float64(mostWriting))) // #nosec G404 -- likewise
		case <-end:
			if limit == bootPatience && seen.pending() {
				return fmt.Errorf("it is not there after %s", bootPatience)
			}
			return nil
		}
	}
}

// console is what a machine says.
type console struct{ lines chan string }

func (c *console) read(r io.Reader) {
	defer close(c.lines)
	in := bufio.NewScanner(r)
	for in.Scan() {
		c.lines <- strings.TrimRight(in.Text(), "\r")
	}
}
