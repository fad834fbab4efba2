package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"syscall"
	"time"
)

// uiCommands make the servers that the page shows.
var uiCommands = []string{
	"ramaria up shop --from shop.sql",
	"ramaria branch shop shop-try",
	"ramaria replica add shop shop-copy --volume disk",
	"ramaria cluster create pay --from shop.sql",
	"ramaria up before --from shop.sql",
	"ramaria down before",
	"ramaria up orders --durable --from shop.sql",
	"ramaria up tests --from shop.sql",
	"ramaria template add shop -i tests",
	"ramaria mark tests loaded",
	"ramaria db new shop -i tests --name shop_w1",
	"ramaria db new shop -i tests --name shop_w2",
}

const (
	uiWidth = 1280
	// uiEnd is above the log of the open row, which tells paths of this machine.
	uiEnd = `Math.floor(document.querySelector("pre.log").parentElement.getBoundingClientRect().top + scrollY) - 2`
)

// A worker is a client of a server: it asks so many times a second, on the average.
type worker struct {
	instance  string
	after     float64 // of the time that the page watches, in [0, 1)
	rate      float64
	statement string // with the number of the statement
}

var workers = []worker{
	{"shop", 0, 90, "SELECT status, COUNT(*) FROM orders WHERE customer_id = %d %% 4000 GROUP BY status"},
	{"shop", 0.6, 60, "UPDATE product SET stock = stock + 1 WHERE id = %d %% 500"},
	{"orders", 0, 40, "INSERT INTO page_view (path, at) VALUES ('/basket/%d', NOW(6))"},
	{"orders", 0.7, 50, "SELECT placed FROM orders WHERE id = %d %% 9000"},
	{"shop-try", 0.5, 25, "SELECT COUNT(*) FROM page_view WHERE id > %d"},
	{"tests", 0, 110, "SELECT name FROM shop.customer WHERE id = %d %% 4000"},
	{"tests", 0.3, 70, "SELECT status FROM shop.orders WHERE id = %d %% 9000"},
	{"tests", 0.6, 90, "SELECT stock FROM shop.product WHERE id = %d %% 500"},
}

// drawUI takes a screenshot of the page of ramaria ui.
func drawUI(ctx context.Context, o options) error {
	return inHome(ctx, o, func(sh shell) error {
		for _, command := range uiCommands {
			if _, err := sh.run(ctx, command); err != nil {
				return err
			}
		}
		return withUI(ctx, sh, func(link string) error {
			return inBrowser(ctx, func(t tab) error { return watch(ctx, sh, o, t, link) })
		})
	})
}

// withUI calls f with the link that ramaria ui prints.
func withUI(ctx context.Context, sh shell, f func(link string) error) (err error) {
	cmd := sh.command(ctx, "exec ramaria ui")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start ramaria ui: %w", err)
	}
	lines := bufio.NewScanner(out)
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		for lines.Scan() { // further links
		}
		err = errors.Join(err, cmd.Wait())
	}()
	if !lines.Scan() {
		return errors.New("ramaria ui printed no link")
	}
	return f(lines.Text())
}

// watch has the page open while the servers work, and takes the screenshots then.
func watch(ctx context.Context, sh shell, o options, t tab, link string) error {
	if err := t.open(link, uiWidth); err != nil {
		return err
	}
	if err := t.until(`document.querySelectorAll(".inst").length === 9 && document.querySelector("#live.on") !== null`); err != nil {
		return err
	}
	// The home is a directory that nobody else has.
	if err := t.do(`document.querySelector("#home").style.visibility = "hidden"`); err != nil {
		return err
	}
	if err := t.do(`document.querySelector('[data-name="tests"] .name').click()`); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	failed := make(chan error, len(workers)+1)
	spawn := func(f func() error) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := f(); err != nil && ctx.Err() == nil {
				failed <- err
			}
		}()
	}
	for i, w := range workers {
		spawn(func() error { return w.work(ctx, sh, o.watch, float64(i)) })
	}
	spawn(func() error { return resets(ctx, sh) })
	defer wg.Wait()
	defer stop()
	select {
	case <-time.After(o.watch):
	case <-ctx.Done():
		return ctx.Err()
	case err := <-failed:
		return err
	}
	return t.shoot(o.out, "ui", uiWidth, uiEnd)
}

// work asks until the context ends, now more often and now less.
func (w worker) work(ctx context.Context, sh shell, whole time.Duration, phase float64) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(time.Duration(w.after * float64(whole))):
	}
	in, out := io.Pipe()
	cmd := sh.command(ctx, "exec ramaria sql "+w.instance)
	cmd.Stdin = in
	var talk strings.Builder
	cmd.Stderr = &talk
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start client: %w", err)
	}
	start := time.Now()
	go func() {
		const step = 50 * time.Millisecond
		due := 0.0
		for n := 0; ; time.Sleep(step) {
			t := time.Since(start).Seconds()
			now := w.rate * (1 + 0.35*math.Sin(t/11+phase) + 0.2*math.Sin(t/3.7+2*phase))
			for due += now * step.Seconds(); due >= 1; due-- {
				n++
				if _, err := fmt.Fprintf(out, w.statement+";\n", n); err != nil {
					return
				}
			}
		}
	}()
	if err := errors.Join(cmd.Wait(), in.Close()); err != nil {
		return fmt.Errorf("client of %s: %w %s", w.instance, err, talk.String())
	}
	return nil
}

// resets changes two clones and resets them, as two workers of a test runner do.
func resets(ctx context.Context, sh shell) error {
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("shop_w%d", n%2+1)
		command := fmt.Sprintf("ramaria sql tests -e 'DELETE FROM %s.page_view LIMIT 10' && ramaria db reset -i tests %s", name, name)
		if _, err := sh.run(ctx, command); err != nil {
			return err
		}
		time.Sleep(150 * time.Millisecond)
	}
	return nil
}
