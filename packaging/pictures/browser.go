package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// maxBytes is how large a screenshot may be: a clone of the repository has every one there ever was.
const maxBytes = 90_000

// patience is how long a page may take to show something.
const patience = time.Minute

// redraw is how long a page takes at most to draw its plots in the colours of another scheme.
const redraw = 1500 * time.Millisecond

// A tab is a page in a browser without a window.
type tab struct {
	ctx context.Context //nolint:containedctx // chromedp's handle of a tab is one
}

// inBrowser calls f with an empty tab.
func inBrowser(ctx context.Context, f func(tab) error) (err error) {
	program := ""
	for _, name := range []string{"google-chrome", "chromium-browser", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
		}
	}
	if program == "" {
		return errors.New("there is no Chromium in PATH: apt-get install chromium fonts-dejavu-core")
	}
	dir, err := os.MkdirTemp("", "pictures-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.ExecPath(program),
		chromedp.Flag("no-proxy-server", true), chromedp.UserDataDir(filepath.Join(dir, "data")), chromedp.Env("TMPDIR="+dir, "TZ=UTC"))
	alloc, stop := chromedp.NewExecAllocator(ctx, options...)
	defer stop()
	ctx, cancel := chromedp.NewContext(alloc)
	defer cancel()
	return f(tab{ctx})
}

// open opens a page.
func (t tab) open(address string, width int64) error {
	if err := chromedp.Do(t.ctx, chromedp.EmulateViewport(width, 1000), chromedp.Navigate(address)); err != nil {
		return fmt.Errorf("open the page: %w", err)
	}
	return nil
}

// do runs a script in the page.
func (t tab) do(script string) error {
	if _, err := chromedp.Run(t.ctx, chromedp.Evaluate[any]("void ("+script+")")); err != nil {
		return fmt.Errorf("%s: %w", script, err)
	}
	return nil
}

// until waits until a condition holds.
func (t tab) until(condition string) error {
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		switch ok, err := chromedp.Run(t.ctx, chromedp.Evaluate[bool](condition)); {
		case err != nil:
			return fmt.Errorf("%s: %w", condition, err)
		case ok:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("not so after %s: %s", patience, condition)
		}
	}
}

// shoot takes a screenshot of the page in light and in dark, from its top to where a script
// says, as NAME-light.png and NAME-dark.png.
func (t tab) shoot(dir, name string, width int64, height string) error {
	for _, scheme := range []string{"light", "dark"} {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		if _, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, media); err != nil {
			return fmt.Errorf("choose %s: %w", scheme, err)
		}
		time.Sleep(redraw)
		high, err := chromedp.Run(t.ctx, chromedp.Evaluate[float64](height))
		if err != nil {
			return fmt.Errorf("%s: %w", height, err)
		}
		beyond := true // what does not fit into the window
		clip := &page.Viewport{Width: float64(width), Height: high, Scale: 1}
		shot, err := chromedp.Call(t.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: clip, CaptureBeyondViewport: &beyond})
		if err != nil {
			return fmt.Errorf("take a screenshot: %w", err)
		}
		if err := writePNG(t.ctx, filepath.Join(dir, name+"-"+scheme+".png"), shot.Data); err != nil {
			return err
		}
	}
	return nil
}

// writePNG writes a screenshot with a palette, which makes it a third of its size.
func writePNG(ctx context.Context, path string, shot []byte) error {
	var small, talk bytes.Buffer
	cmd := exec.CommandContext(ctx, "pngquant", "--speed", "1", "--strip", "--nofs", "48", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(shot), &small, &talk
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("pngquant (apt-get install pngquant): %w %s", err, talk.String())
	}
	if small.Len() > maxBytes {
		return fmt.Errorf("%s would have %d bytes, more than %d", path, small.Len(), maxBytes)
	}
	if err := os.WriteFile(path, small.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	return nil
}
