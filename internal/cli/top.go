package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ramaria-db/ramaria/internal/view"
)

// topInterval is the time between two looks.
const topInterval = time.Second

type topOptions struct {
	times  int
	asJSON bool
}

func newTop(a *app) *cobra.Command {
	var o topOptions
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show all instances in the terminal, live",
		Long: `Show all instances in the terminal, live: volumes and memory, queries, leases, durable state and
warnings, once a second. Clusters and replicas stand together; what is stopped is a line at the end.
Keys: q ends, s sorts by another column, j and k (or the arrows) choose an instance of which more is
said, a shows what is stopped, too.

Where stdout is no terminal it prints what one second shows, and ends.`,
		Example: `  ramaria top
  ramaria top -n 1 > state.txt
  ramaria top --json | jq '.instances[].traffic'`,
		Args: maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runTop(cmd.Context(), a, o)
		},
	}
	cmd.Flags().IntVarP(&o.times, "number", "n", 0, "end after `N` looks (default: no end; 1 where stdout is no terminal)")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print a line of JSON a second")
	return cmd
}

func runTop(ctx context.Context, a *app, o topOptions) error {
	if o.times < 0 {
		return usageError{fmt.Errorf("show instances %d times\nhint: ramaria top -n 1", o.times)}
	}
	w := view.New(&a.engine)
	defer w.Close()
	out, in := terminalOf(a.stdout.w), terminalOf(a.stdin)
	if o.asJSON || out == nil || in == nil || os.Getenv("TERM") == "dumb" {
		if o.times == 0 && !o.asJSON && out == nil {
			o.times = 1
		}
		return a.topPlain(ctx, w, o)
	}
	return a.topLive(ctx, w, in, out, o.times)
}

// terminalOf returns a stream as a file if it is a terminal, else nil.
func terminalOf(stream any) *os.File {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// topPlain prints looks one after the other. The first, which knows no rates, is not shown.
func (a *app) topPlain(ctx context.Context, w *view.Watcher, o topOptions) error {
	if _, err := w.Look(ctx); err != nil {
		return err
	}
	ticker := time.NewTicker(topInterval)
	defer ticker.Stop()
	for n := 0; o.times == 0 || n < o.times; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		seen, err := w.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case o.asJSON:
			err = json.NewEncoder(a.stdout).Encode(seen)
		default:
			s := topScreen{seen: seen, width: plainWidth, selected: -1}
			_, err = io.WriteString(a.stdout, s.plain())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// What has a terminal use its other screen without cursor and wrapping, and use the first again.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// topLive shows looks until q is typed.
func (a *app) topLive(ctx context.Context, w *view.Watcher, in, out *os.File, times int) (err error) {
	mode, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("prepare terminal: %w", err)
	}
	defer func() {
		fmt.Fprint(out, leaveScreen)
		_ = term.Restore(int(in.Fd()), mode) // the terminal may be gone
	}()
	fmt.Fprint(out, enterScreen)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	keys := typed(in)
	ticker := time.NewTicker(topInterval)
	defer ticker.Stop()
	s := topScreen{coloured: os.Getenv("NO_COLOR") == ""}
	for n, look := 0, true; ; {
		if look {
			if s.seen, err = w.Look(ctx); err != nil {
				break
			}
			if n++; times > 0 && n > times { // the first knows no rates
				break
			}
		}
		if s.width, s.height, err = term.GetSize(int(out.Fd())); err != nil {
			break
		}
		if _, err = io.WriteString(out, s.frame()); err != nil {
			break
		}
		look = false
		select {
		case <-ctx.Done():
			return nil
		case <-resized:
		case <-ticker.C:
			look = true
		case key, ok := <-keys:
			if !ok || !s.key(key) {
				return nil
			}
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// firstKey cuts off the first key of what was typed: a letter, or what an arrow sends (ECMA-48, CSI and SS3). A key
// that repeats comes several times in one reading.
func firstKey(text string) (key, rest string) {
	const intro, leastFinal = 2, 0x40
	if len(text) > intro && text[0] == '\x1b' && (text[1] == '[' || text[1] == 'O') {
		for n := intro; n < len(text); n++ {
			if text[n] >= leastFinal {
				return text[:n+1], text[n+1:]
			}
		}
	}
	_, n := utf8.DecodeRuneInString(text)
	return text[:n], text[n:]
}

// typed returns what is typed, key by key. Its goroutine waits for the terminal, and ends with the program.
func typed(in io.Reader) <-chan string {
	keys := make(chan string)
	go func() {
		defer close(keys)
		b := make([]byte, 16)
		for {
			n, err := in.Read(b)
			if err != nil {
				return
			}
			for text := string(b[:n]); text != ""; {
				var key string
				key, text = firstKey(text)
				keys <- key
			}
		}
	}()
	return keys
}
