package tests

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var uiScreenshots = flag.String("screenshots", "", "keep screenshots of the page of ramaria ui in this `directory`")

// uiPatience is how long the page may take to show what was done.
const uiPatience = 90 * time.Second

// TestUI drives the page of ramaria ui in a real browser: every button, by its dialog, on real instances, with
// what it does looked for in the instance. The page may have no error in its console, and no request may fail.
func TestUI(t *testing.T) {
	t.Parallel()
	b := newUIBrowser(t)
	h := newTestHome(t)
	h.ramaria("up", "shop", "--database", "shop")
	h.ramaria("sql", "shop", "-e", "CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1); CREATE DATABASE base; CREATE TABLE base.t (a INT PRIMARY KEY); INSERT INTO base.t VALUES (7)")
	h.ramaria("template", "add", "-i", "shop", "base")
	h.ramaria("db", "new", "-i", "shop", "base")
	h.ramaria("up", "ledger", "--durable")
	link, end := h.startUI()
	b.open(link)
	b.until("both rows", `document.querySelectorAll(".inst").length === 2`)
	b.until("it is live", `document.querySelector("#live.on") !== null`)
	b.evaluate(`void import("./plots.js").then(m => { window.plots = m })`)
	b.until("the plots are there", `window.plots !== undefined`)
	if got := b.text(`[0, 1, 2, 5].map(n => plots.tick(n * plots.ROUND[28])).join()`); got != "0 B,256 MB,512 MB,1.25 GB" {
		t.Errorf("an axis of bytes has %s", got)
	}

	command := func(words string) string { return "ramaria --home " + h.home + " " + words }
	one := func(instance, statement string) string {
		return h.ramaria("sql", instance, "-e", statement+`\G`)
	}
	b.row("shop")
	if text := b.do("shop", "branch", "new", "try-1", command("branch shop try-1")); !strings.Contains(text, "try-1 runs") {
		t.Errorf("branch: %s", text)
	}
	if got := one("try-1", "SELECT a FROM t"); !strings.Contains(got, "a: 1") {
		t.Errorf("the branch has %s", got)
	}
	b.until("the branch is listed", `document.querySelector('[data-name="try-1"] .dot.running') !== null`)

	b.do("shop", "mark", "label", "here", command("mark shop here"))
	if got := h.ramaria("mark", "ls", "shop"); !strings.Contains(got, "here") {
		t.Errorf("the marks are %s", got)
	}
	b.until("the mark is listed", `document.querySelector('[data-name="shop"] [aria-label="Rewind to here"]') !== null`)

	lease := b.text(`document.querySelector('[data-name="shop"] [aria-label^="Reset "]').getAttribute("aria-label").slice(6)`)
	h.ramaria("sql", "shop", "-e", "INSERT INTO "+lease+".t VALUES (8)")
	if text := b.do("shop", "reset", "", "", command("db reset -i shop "+lease)); !strings.Contains(text, "reset "+lease) {
		t.Errorf("reset: %s", text)
	}
	if got := one("shop", "SELECT COUNT(*) AS n FROM "+lease+".t"); !strings.Contains(got, "n: 1") {
		t.Errorf("the lease has %s rows", got)
	}

	h.ramaria("sql", "shop", "-e", "DROP TABLE t")
	b.do("shop", "rewind", "label", "here", command("rewind shop here"))
	if got := one("shop", "SELECT a FROM t"); !strings.Contains(got, "a: 1") {
		t.Errorf("the rewound instance has %s", got)
	}

	b.refused("shop", "backup", "it is not durable")
	b.row("ledger")
	b.refused("ledger", "rewind", "its archive goes forward only")
	before := h.backups("ledger")
	b.do("ledger", "backup", "", "", command("backup ledger"))
	if after := h.backups("ledger"); after != before+1 {
		t.Errorf("there are %d base backups, and were %d", after, before)
	}
	b.until("the log is shown", `document.querySelector('[data-name="ledger"] pre.log').textContent.includes("ready for connections")`)
	b.click(`[data-name="ledger"] [data-log="supervisor"]`)
	b.until("the supervisor's log is shown", `!document.querySelector('[data-name="ledger"] pre.log').textContent.includes("ready for connections")`)

	b.press("try-1", "down") // whose row is opened by it
	b.click("#dialog-close")
	if got := h.ramaria("status", "try-1"); !strings.Contains(got, "running") {
		t.Errorf("an action that was cancelled was done: %s", got)
	}
	b.screenshots(t)
	b.do("try-1", "down", "", "", command("down try-1"))
	if _, _, err := h.try("status", "try-1"); err == nil {
		t.Error("the instance still runs")
	}
	b.until("it is shown as stopped", `document.querySelector('[data-name="try-1"] .dot.stopped') !== null`)

	// As the page does that saw it run a moment ago.
	b.evaluate(`void fetch("leases?instance=try-1").then(r => r.json()).then(list => { window.leftLeases = list.length })`)
	b.until("a stopped instance has no leases", `window.leftLeases === 0`)

	for _, f := range b.faults() { // before the end, which may cut a request off
		t.Errorf("the page: %s", f)
	}
	end()
	b.until("the page says that it has ended", `!document.querySelector("#ended").hidden`)
}

// TestUIFaultsAreSeen is the negative control of what TestUI looks for.
func TestUIFaultsAreSeen(t *testing.T) {
	t.Parallel()
	b := newUIBrowser(t)
	h := newTestHome(t)
	link, end := h.startUI()
	defer end()
	b.open(link)
	b.until("it says that there are none", `document.querySelector("#list").textContent.includes("ramaria --home")`)
	for _, script := range []string{`console.error("an error")`, `setTimeout(() => { throw new Error("thrown") })`, `fetch("nosuch")`, `fetch("http://127.0.0.1:1/").catch(() => 0)`} {
		before := len(b.faults())
		b.evaluate("void " + script)
		b.untilTrue(script+" is seen", func() bool { return len(b.faults()) > before })
	}
}

// backups is how many base backups an instance has.
func (h *testHome) backups(name string) int {
	h.t.Helper()
	var list []any
	if err := json.Unmarshal([]byte(h.ramaria("backup", "ls", name, "--json")), &list); err != nil {
		h.t.Fatal(err)
	}
	return len(list)
}

// startUI starts ramaria ui, and returns its first link and what ends it.
func (h *testHome) startUI() (link string, end func()) {
	h.t.Helper()
	cmd := h.command("ui")
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		h.t.Fatalf("ramaria ui printed no link: %v: %s", cmd.Wait(), talk.String())
	}
	link = lines.Text()
	end = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		for lines.Scan() { // further links
		}
		if err := cmd.Wait(); err != nil {
			h.t.Errorf("ramaria ui: %v: %s", err, talk.String())
		}
	})
	h.t.Cleanup(end)
	return link, end
}

// uiBrowser is a page in a browser without a window.
type uiBrowser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp's handle of a tab is one

	mu    sync.Mutex
	found []string
}

func newUIBrowser(t *testing.T) *uiBrowser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("SKIPPED, UNTESTED: there is no Chromium in PATH: whether the page of ramaria ui works was not tested; apt-get install chromium fonts-dejavu-core")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox, chromedp.ExecPath(program), chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("no-proxy-server", true), chromedp.UserDataDir(t.TempDir()),
		chromedp.Env("TMPDIR="+t.TempDir())) // where it leaves a directory when it is killed
	alloc, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	b := &uiBrowser{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{runtime.Enable, log.Enable} {
		if _, err := chromedp.Call(ctx, enable, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// hear notes what is wrong with the page.
func (b *uiBrowser) hear(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			text = fmt.Sprintf("console: %s", e.Type)
			for _, a := range e.Args {
				text += " " + string(a.Value)
			}
		}
	case *runtime.EventExceptionThrown:
		text = "exception: " + e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			text = fmt.Sprintf("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled {
			text = "request failed: " + e.ErrorText
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			text = fmt.Sprintf("request failed: %v %s", e.Response.Status, e.Response.URL)
		}
	}
	if text != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.found = append(b.found, text)
	}
}

func (b *uiBrowser) faults() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.found)
}

func (b *uiBrowser) act(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, uiPatience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("drive the page: %v; it has %q", err, b.faults())
	}
}

func (b *uiBrowser) open(link string) {
	b.t.Helper()
	b.act(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(link), chromedp.WaitVisible(chromedp.CSS("#machine")))
}

func (b *uiBrowser) evaluate(script string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](script)); err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
}

func (b *uiBrowser) text(script string) string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](script))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return text
}

// until waits until a condition of the page holds.
func (b *uiBrowser) until(what, script string) {
	b.t.Helper()
	b.untilTrue(what, func() bool {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](script))
		return err == nil && ok
	})
}

func (b *uiBrowser) untilTrue(what string, f func() bool) {
	b.t.Helper()
	for end := time.Now().Add(uiPatience); !f(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("not so after %s: %s; the page says %q, and has %q", uiPatience, what, b.text("document.body.innerText"), b.faults())
		}
	}
}

func (b *uiBrowser) click(selector string) {
	b.t.Helper()
	b.act(chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

// row opens the row of an instance. It clicks as who looks does: again, where the page has moved under the pointer.
func (b *uiBrowser) row(instance string) {
	b.t.Helper()
	b.untilTrue("the row opens", func() bool {
		b.click(`[data-name="` + instance + `"] .name`)
		return b.text(`String(document.querySelector('[data-name="`+instance+`"] [aria-expanded=true]') !== null)`) == "true"
	})
}

// press opens the dialog of a button.
func (b *uiBrowser) press(instance, action string) {
	b.t.Helper()
	button := `[data-name="` + instance + `"] [data-action="` + action + `"]`
	if b.text(`String(document.querySelector('`+button+`'))`) == "null" {
		b.row(instance)
	}
	b.until(action+" is possible", `document.querySelector('`+button+`').getAttribute("aria-disabled") === "false"`)
	b.click(button)
	b.until("the dialog is open", `document.querySelector("dialog").open`)
}

// do presses a button, fills in a field, compares the command that is shown, confirms, and returns what the
// page then says.
func (b *uiBrowser) do(instance, action, field, value, command string) string {
	b.t.Helper()
	b.press(instance, action)
	if field != "" {
		b.evaluate(fmt.Sprintf(`{ const f = document.querySelector('dialog [name=%q]'); f.value = %q; f.dispatchEvent(new Event("input", {bubbles: true})); void 0 }`, field, value))
	}
	if got := b.text(`document.querySelector("#dialog-command").textContent`); got != command {
		b.t.Errorf("%s stands for %q, want %q", action, got, command)
	}
	b.click("#dialog-go")
	b.until(action+" is done", `document.querySelector("#dialog-done") !== null`)
	text := b.text(`document.querySelector("#dialog-done").textContent`)
	b.click("#dialog-close")
	b.until("the dialog is closed", `!document.querySelector("dialog").open`)
	return text
}

// refused presses a button that is not possible, and looks for the reason.
func (b *uiBrowser) refused(instance, action, why string) {
	b.t.Helper()
	button := `[data-name="` + instance + `"] [data-action="` + action + `"]`
	b.click(button + `[aria-disabled=true]`)
	b.until(action+" says why not", fmt.Sprintf(`document.querySelector('[data-name=%q] .why').textContent.includes(%q) && !document.querySelector("dialog").open`, instance, why))
}
