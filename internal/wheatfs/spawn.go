package wheatfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// startPatience is how long the daemon may take to begin.
const startPatience = 30 * time.Second

// startDaemon starts the daemon; ready is closed with its first report.
func (f *FS) startDaemon(requests *os.File) (ready chan struct{}, err error) {
	in, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close() // the daemon's is another
	reports, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, orders.Close())
	}
	defer out.Close() // the daemon's is another
	cmd := exec.Command(f.opts.Argv[0], f.opts.Argv[1:]...)
	cmd.Dir = "/"
	var said tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &said
	cmd.ExtraFiles = []*os.File{requests}
	// Ctrl-C is for the keeper.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err = sys.StartFlusher(cmd); err == nil {
		err = json.NewEncoder(orders).Encode(parameters{Size: f.opts.Size, RAM: f.opts.RAM, Disk: f.opts.Disk})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the daemon of wheatfs: %w", err), orders.Close(), reports.Close())
	}
	f.daemon, f.orders = cmd, orders
	ready = make(chan struct{})
	go func() {
		defer close(f.gone)
		d := json.NewDecoder(reports)
		for first := true; ; first = false {
			var r Report
			if d.Decode(&r) != nil {
				break
			}
			f.mu.Lock()
			f.report = r
			f.mu.Unlock()
			if first {
				close(ready)
			}
		}
		_, _ = reports.Close(), orders.Close()
		if err := cmd.Wait(); err != nil {
			lost := ""
			if f.shutDown() {
				lost = ", and what was in it is lost"
			}
			f.err = fmt.Errorf("the daemon of wheatfs has ended%s: %w%s", lost, err, said.after(": "))
		}
	}()
	return ready, nil
}

// shutDown has all that is done with the file system fail at once, also what ext4 would look for on a device that answers
// nothing any more, group by group. It returns false if nothing is mounted yet.
func (f *FS) shutDown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if path := f.path(); path != "" {
		_ = sys.ShutDown(path, f.number) // it fails all the same, and later
	}
	return f.number != 0
}

// kill ends a daemon that has nothing to serve.
func (f *FS) kill() {
	_ = f.daemon.Process.Kill()
	<-f.gone
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if n := len(t.b) - tailSize; n > 0 {
		t.b = t.b[n:]
	}
	return len(p), nil
}

// after is what was written, behind a separator, or "".
func (t *tail) after(separator string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if said := strings.TrimSpace(string(t.b)); said != "" {
		return separator + said
	}
	return ""
}
