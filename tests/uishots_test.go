package tests

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// screenshots looks at the page in light, in dark, in a narrow window and on a phone: nothing of it scrolls sideways or
// leaves its cell, and each picture shows something.
func (b *uiBrowser) screenshots(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if *uiScreenshots != "" {
		dir = *uiScreenshots
	}
	for _, as := range []struct {
		name, scheme  string
		width, height int64
	}{{"light", "light", 1280, 900}, {"dark", "dark", 1280, 900}, {"narrow", "light", 1200, 900}, {"phone", "light", 390, 844}, {"phone-dark", "dark", 390, 844}, {"wide", "light", 2560, 1440}} {
		_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: as.width, Height: as.height, DeviceScaleFactor: 1, Mobile: as.width < 500})
		if err == nil {
			_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: as.scheme}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		b.until("it is laid out", fmt.Sprintf(`innerWidth === %d && matchMedia("(prefers-color-scheme: %s)").matches`, as.width, as.scheme))
		b.until(as.name+" does not scroll sideways", fmt.Sprintf(`document.documentElement.scrollWidth <= %d`, as.width))
		b.until(as.name+" uses its width", fmt.Sprintf(`document.querySelector("main").offsetWidth >= .94 * %d`, as.width))
		b.until(as.name+" begins the log with a whole line", `[...document.querySelectorAll("pre.log")].every(l => l.scrollTop === 0 || (l.scrollHeight - l.clientHeight) % 18 < 1)`)
		b.until(as.name+" stretches no card", `[...document.querySelectorAll(".boxes > :not([hidden]):not(.wide)")].every(c => c.lastElementChild.getBoundingClientRect().bottom + 13 >= c.getBoundingClientRect().bottom)`)
		b.until(as.name+" has each chip in its cell", `[...document.querySelectorAll(".chip")].every(c => c.getBoundingClientRect().right <= c.closest(".cell").getBoundingClientRect().right + .5)`)
		picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "ui-"+as.name+".png"), picture, 0o600); err != nil {
			t.Fatal(err)
		}
		shown, err := png.Decode(bytes.NewReader(picture))
		if err != nil {
			t.Fatal(err)
		}
		colours, sum, n := map[uint32]bool{}, 0, 0
		for y := shown.Bounds().Min.Y; y < shown.Bounds().Max.Y; y += 3 {
			for x := shown.Bounds().Min.X; x < shown.Bounds().Max.X; x += 3 {
				r, g, bl, _ := shown.At(x, y).RGBA()
				colours[r>>8<<16|g>>8<<8|bl>>8] = true
				sum, n = sum+int(r>>8+g>>8+bl>>8)/3, n+1
			}
		}
		if len(colours) < 20 || (sum/n > 128) != (as.scheme == "light") {
			t.Errorf("%s: the picture has %d colours, and a mean brightness of %d", as.name, len(colours), sum/n)
		}
	}
	if _, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 1280, Height: 900, DeviceScaleFactor: 1}); err != nil {
		t.Fatal(err)
	}
}
