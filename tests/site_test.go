package tests

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestSite builds the site twice, with the same bytes, and searches it in a browser, as it lies on the disk. No page
// may ask for anything elsewhere, or scroll sideways on a phone.
func TestSite(t *testing.T) {
	t.Parallel()
	b := newUIBrowser(t)
	site, again := filepath.Join(t.TempDir(), "site"), filepath.Join(t.TempDir(), "site")
	makeSite(t, site)
	makeSite(t, again)
	if out, err := exec.CommandContext(t.Context(), "diff", "-r", site, again).CombinedOutput(); err != nil {
		t.Errorf("two builds differ: %v\n%s", err, out)
	}

	var mu sync.Mutex
	var asked []string
	err := chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, e.Request.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b.act(chromedp.Navigate("file://" + site + "/search.html?q=doublewrite"))
	b.until("the page is found", `document.querySelector('#search-results a[href*="docs/durability.html"]') !== null`)
	b.evaluate(`void document.querySelector('#search-results a[href*="docs/durability.html"]').click()`)
	b.until("the page is opened", `document.title.startsWith("Durability") && document.body.innerText.includes("doublewrite")`)
	b.act(chromedp.Navigate("file://" + site + "/index.html"))
	b.until("the first page has the navigation", `document.querySelector('.sidebar-tree a[href$="docs/quickstart.html"]') !== null`)
	b.fitsPhone(site)
	mu.Lock()
	defer mu.Unlock()
	if len(asked) < 10 {
		t.Errorf("only %q were asked for: the browser was not heard", asked)
	}
	for _, url := range asked {
		if !strings.HasPrefix(url, "file://"+site+"/") && !strings.HasPrefix(url, "data:") {
			t.Errorf("the site asks for %s", url)
		}
	}
	for _, f := range b.faults() {
		t.Errorf("the site: %s", f)
	}
	outside := regexp.MustCompile(`<(?:script|link|img|source|iframe)[^>]*"(?:https?:)?//[^>]*>`)
	pages, err := filepath.Glob(filepath.Join(site, "docs", "*.html"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("there are %d pages: %v", len(pages), err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if found := outside.Find(text); found != nil {
			t.Errorf("%s: %s", filepath.Base(page), found)
		}
	}
}

// tooWide names what of a page scrolls sideways, but for tables and blocks of code, which may. The theme has an article
// that is too wide scroll within .content, so that the document is as wide as the window.
const tooWide = `[...document.querySelectorAll("html, .content")].filter(e => e.scrollWidth > e.clientWidth)
	.map(e => e.localName + ": " + e.scrollWidth + " of " + e.clientWidth).join(", ")`

// fitsPhone opens every page as a phone does: none may scroll sideways.
func (b *uiBrowser) fitsPhone(site string) {
	b.t.Helper()
	phone := emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 1, Mobile: true}
	if _, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, phone); err != nil {
		b.t.Fatal(err)
	}
	err := filepath.WalkDir(site, func(page string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(page) != ".html" {
			return err
		}
		b.act(chromedp.Navigate("file://" + page))
		if wide := b.text(tooWide); wide != "" {
			b.t.Errorf("%s scrolls sideways on a phone: %s", filepath.Base(page), wide)
		}
		return nil
	})
	if err != nil {
		b.t.Error(err)
	}
}

// TestSiteFaultsAreSeen is the negative control of the check of links: a small tree builds, and with faults it does
// not, and each is named.
func TestSiteFaultsAreSeen(t *testing.T) {
	t.Parallel()
	makeSite(t, filepath.Join(t.TempDir(), "site")) // which has Sphinx installed
	tools, err := filepath.Abs(cmp.Or(os.Getenv("TOOLS"), "../.tools"))
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "../packaging/site/build.sh", tree, filepath.Join(t.TempDir(), "site"))
		cmd.Env = append(os.Environ(), "SPHINX="+filepath.Join(tools, "sphinx", "bin", "sphinx-build"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	page := "# Page\n\n## Here\n\n[here](#here), [index](README.md#start), [text](text.txt), <https://example.com/>\n"
	write("README.md", "# First\n\n[index](docs/README.md)\n")
	write("docs/README.md", "# Documentation\n\n## Start\n\n[page](page.md)\n")
	write("docs/text.txt", "text\n")
	write("docs/page.md", page)
	if out, err := build(); err != nil {
		t.Fatalf("a tree without faults: %v\n%s", err, out)
	}
	faults := map[string]string{
		"nopage": "[a](nopage.md)", "nofile": "[a](nofile.txt)", "nodir": "[a](../nodir/nothing.go)", "nowhere": "[a](#nowhere)", "nosuch": "[a](README.md#nosuch)",
		"noimage": "![a](noimage.png)", "nopicture": "<picture>\n<img alt=\"a\" src=\"nopicture.png\">\n</picture>", "a..b": "[a](http://a..b/)", "raw.html": "<div>\n<a href=\"raw.html\">a</a>\n</div>",
	}
	for _, text := range faults {
		page += "\n" + text + "\n"
	}
	write("docs/page.md", page)
	write("docs/unlisted.md", "# Unlisted\n")
	faults["unlisted"] = "a page that the index does not list"
	out, err := build()
	if err == nil {
		t.Error("a tree with faults builds")
	}
	for word, text := range faults {
		if !strings.Contains(out, word) {
			t.Errorf("not seen: %s", text)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// installing is held while a site is made: the first one installs Sphinx.
var installing sync.Mutex

// makeSite runs make site.
func makeSite(t *testing.T, dir string) {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	if os.Getenv(servertest.EnvOffline) == "1" {
		t.Skipf("SKIPPED, UNTESTED: the site: %s=1", servertest.EnvOffline)
	}
	if out, err := exec.CommandContext(t.Context(), "python3", "-c", "import ensurepip, venv").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, UNTESTED: the site: no Python with venv: %v %s; apt-get install python3-venv", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), "make", "-s", "-C", "..", "site", "SITE="+dir).CombinedOutput(); err != nil {
		t.Fatalf("make site: %v\n%s", err, out)
	}
}
