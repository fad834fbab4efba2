package report

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var screenshots = flag.String("screenshots", "", "keep screenshots and the printed page in this `directory`")

// browserTime is what one start of the browser may take.
const browserTime = 6 * time.Minute

// TestInBrowser shows the report in a real browser, on a phone and on a screen, in light
// and dark. It wants that the page never scrolls sideways, that no text of a plot is cut,
// meets another or is too small to read, and that each picture shows something.
func TestInBrowser(t *testing.T) {
	b := newBrowser(t)
	pictures := map[string]*image.RGBA{}
	for _, size := range []struct {
		name          string
		width, height int
	}{{"phone", 360, 800}, {"tablet", 700, 900}, {"desktop", 1280, 900}, {"wide", 2560, 1440}} {
		for _, scheme := range []string{"light", "dark"} {
			name := size.name + "-" + scheme
			picture := b.screenshot(t, b.frame("/report", size.width, size.height), name, scheme, size.width, size.height)
			pictures[name] = picture
			if n := colours(picture); n < 10 {
				t.Errorf("%s: the picture has %d colours: it is blank", name, n)
			}
			if light := brightness(picture); (light > 128) != (scheme == "light") {
				t.Errorf("%s: the mean brightness is %d of 255", name, light)
			}
		}
		if bytes.Equal(pictures[size.name+"-light"].Pix, pictures[size.name+"-dark"].Pix) {
			t.Errorf("%s: light and dark look the same", size.name)
		}
		b.check(t, size.name, "/report", size.width, size.height)
		b.check(t, size.name+", unfolded", "/unfolded", size.width, size.height)
	}
}

// TestPrinted prints the report.
func TestPrinted(t *testing.T) {
	b := newBrowser(t)
	file := filepath.Join(b.dir, "report.pdf")
	b.run(t, "light", "--no-pdf-header-footer", "--print-to-pdf="+file, b.url+"/report")
	pdf, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(pdf, []byte("%PDF-")) || len(pdf) < 20_000 {
		t.Errorf("the browser printed %d bytes that begin with %q", len(pdf), pdf[:min(len(pdf), 8)])
	}
}

// layoutFacts are what the script in the frame finds.
type layoutFacts struct {
	Width  int      // of the document, with what must be scrolled to
	Plots  int      // that can be seen
	Faults []string // texts that are cut, meet or are too small
}

func (b *browser) check(t *testing.T, name, page string, width, height int) {
	t.Helper()
	facts := b.layout(t, page, width, height)
	if facts.Width > width {
		t.Errorf("%s: the page is %d wide and scrolls sideways in %d", name, facts.Width, width)
	}
	if facts.Plots == 0 {
		t.Errorf("%s: no plot can be seen", name)
	}
	for _, f := range facts.Faults {
		t.Errorf("%s: %s", name, f)
	}
}

// TestLayoutFaultsAreSeen is the negative control of TestInBrowser.
func TestLayoutFaultsAreSeen(t *testing.T) {
	facts := newBrowser(t).layout(t, "/broken", 360, 800)
	if facts.Width != 500 {
		t.Errorf("the page is 500 wide, and was found to be %d", facts.Width)
	}
	want := []string{"text of 8.0 px: small", "cut: far to the right", "meet: one and two", "on a bar or point: on a bar"}
	if diff := cmp.Diff(want, facts.Faults); diff != "" {
		t.Error(diff)
	}
}

// broken is a page with every fault that the script looks for.
const broken = `<!DOCTYPE html><body style="margin:0"><div style="width:500px">wide</div>
<svg class="plot" viewBox="0 0 300 200" width="300" height="200" font-size="12" font-family="DejaVu Sans, sans-serif">
<text x="0" y="20" font-size="8">small</text><text x="260" y="40">far to the right</text>
<text x="0" y="80">one</text><text x="5" y="82">two</text>
<rect class="bar" x="0" y="100" width="200" height="20"/><text x="10" y="115">on a bar</text></svg>`

// layout lets the script look at a page.
func (b *browser) layout(t *testing.T, page string, width, height int) layoutFacts {
	t.Helper()
	dom := b.run(t, "light", "--dump-dom", b.frame(page, width, height))
	found := regexp.MustCompile(`data-facts="([^"]*)"`).FindStringSubmatch(dom)
	if found == nil {
		t.Fatalf("%s: the script did not run:\n%.2000s", page, dom)
	}
	var facts layoutFacts
	if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &facts); err != nil {
		t.Fatal(err)
	}
	return facts
}

func (b *browser) frame(page string, width, height int) string {
	return fmt.Sprintf("%s/frame?page=%s&width=%d&height=%d", b.url, page, width, height)
}

// frame holds the report in an inner window of the size of the device: the window of the
// browser itself cannot be as narrow as a phone. Its script is the test's; the report has none.
const frame = `<!DOCTYPE html><html><head><style>html,body{margin:0;overflow:hidden}iframe{border:0;display:block}</style></head><body>
<iframe src="%s" width="%s" height="%s"></iframe><script>
window.onload = () => {
  const win = document.querySelector("iframe").contentWindow, doc = win.document, faults = [];
  const plots = [...doc.querySelectorAll("svg.plot")].filter(p => p.getBoundingClientRect().width > 0);
  for (const plot of plots) {
    const outer = plot.getBoundingClientRect();
    const texts = [...plot.querySelectorAll("text")].map(e => ({ e, box: e.getBoundingClientRect(), text: e.textContent }));
    for (const { e, box, text } of texts) {
      const size = parseFloat(win.getComputedStyle(e).fontSize) * e.getScreenCTM().a;
      if (size < 9) faults.push("text of " + size.toFixed(1) + " px: " + text);
      // The box has the stroke that keeps a text clear of the grid, 1.5 units on each side.
      if (box.left < outer.left - 2.6 || box.right > outer.right + 2.6 || box.top < outer.top - 2 || box.bottom > outer.bottom + 2) faults.push("cut: " + text);
    }
    const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
    texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
      if (meet(a.box, b.box)) faults.push("meet: " + a.text + " and " + b.text);
    }));
    const bars = [...plot.querySelectorAll("rect.bar, path.mark")];
    for (const { e, box, text } of texts) {
      if (bars.some(b => meet(b.getBoundingClientRect(), box))) faults.push("on a bar or point: " + text);
    }
  }
  document.body.dataset.facts = JSON.stringify({ Width: doc.documentElement.scrollWidth, Plots: plots.length, Faults: faults });
};
</script></body></html>`

// browser is Chromium without a window, and a server on this machine with the report.
type browser struct {
	program, url, dir string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	b := &browser{dir: t.TempDir()}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			b.program = path
			break
		}
	}
	if b.program == "" {
		t.Skip("SKIPPED, UNTESTED: there is no Chromium in PATH: whether the report can be read on a phone, in the dark and on paper was not tested; apt-get install chromium fonts-dejavu-core")
	}
	if *screenshots != "" {
		b.dir = *screenshots
	}
	var page bytes.Buffer
	if err := WriteHTML(&page, append(examples(), manyRows(12), manyRows(1))); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/report", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page.Bytes())
	})
	mux.HandleFunc("/unfolded", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(bytes.ReplaceAll(page.Bytes(), []byte("<details>"), []byte("<details open>")))
	})
	mux.HandleFunc("/frame", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, frame, html.EscapeString(r.FormValue("page")), html.EscapeString(r.FormValue("width")), html.EscapeString(r.FormValue("height")))
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(broken))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// run starts the browser once, with a profile of its own, and returns what it printed.
func (b *browser) run(t *testing.T, scheme string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), browserTime)
	defer cancel()
	// The enum of Blink: 0 is dark, 1 is light.
	preferred := map[string]string{"dark": "0", "light": "1"}[scheme]
	cmd := exec.CommandContext(ctx, b.program, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-proxy-server",
		"--user-data-dir=" + t.TempDir(), "--blink-settings=preferredColorScheme=" + preferred,
	}, args...)...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	// Helpers of the browser may keep the pipes open a little longer than it lives.
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, talk.String())
	}
	return out.String()
}

// screenshot returns the part of the window that the device would show.
func (b *browser) screenshot(t *testing.T, url, name, scheme string, width, height int) *image.RGBA {
	t.Helper()
	file := filepath.Join(b.dir, name+".png")
	b.run(t, scheme, "--screenshot="+file, fmt.Sprintf("--window-size=%d,%d", max(width, 800), height+200), url)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	whole, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	part := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(part, part.Bounds(), whole, image.Point{}, draw.Src)
	return part
}

func colours(p *image.RGBA) int {
	seen := map[color.RGBA]bool{}
	for y := range p.Rect.Dy() {
		for x := range p.Rect.Dx() {
			seen[p.RGBAAt(x, y)] = true
		}
	}
	return len(seen)
}

// brightness is the mean of all pixels, 0 to 255.
func brightness(p *image.RGBA) int {
	sum := 0
	for y := range p.Rect.Dy() {
		for x := range p.Rect.Dx() {
			c := p.RGBAAt(x, y)
			sum += (int(c.R) + int(c.G) + int(c.B)) / 3
		}
	}
	return sum / (p.Rect.Dx() * p.Rect.Dy())
}
