package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadCommands(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands, err := readCommands(string(page))
	if err != nil {
		t.Fatal(err)
	}
	if len(commands) != 5 || !strings.HasPrefix(commands[0], "ramaria up ") || strings.Contains(commands[0], "#") {
		t.Errorf("the README's five lines are %q", commands)
	}
	if _, err := readCommands("no block"); err == nil {
		t.Error("a page without commands is no error")
	}
}

func TestShown(t *testing.T) {
	got := shown("volume shm: in RAM, at /dev/shm/ramaria-0\nmysql://app:Secret1@127.0.0.1:1/shop\nCOUNT(*)\n4\n")
	want := []string{"volume shm: in RAM, …", "mysql://app:…@127.0.0.1:1/shop", "COUNT(*)", "4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

func TestHideTimes(t *testing.T) {
	s := session{{"ramaria branch main try-it", []string{"branched main to try-it in 92.4ms; main was paused for 5.3ms"}, time.Second}}.hideTimes()
	if want := "branched main to try-it in …; main was paused for …"; s[0].output[0] != want || s[0].took != 0 {
		t.Errorf("without times: %+v, want %q", s[0], want)
	}
}

func TestDraw(t *testing.T) {
	s := session{{"ramaria sql -e 'SELECT 1 < 2'", []string{"1 & 2", strings.Repeat("x", 200)}, 1300 * time.Millisecond}}
	for _, th := range []theme{light, dark} {
		svg := draw(s, th)
		d := xml.NewDecoder(strings.NewReader(string(svg)))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("not XML: %v\n%s", err, svg)
			}
		}
		for _, want := range []string{"SELECT 1 &lt; 2", "1 &amp; 2", "1.3 s", th.background} {
			if !strings.Contains(string(svg), want) {
				t.Errorf("the picture lacks %q", want)
			}
		}
		if strings.Contains(string(svg), strings.Repeat("x", columns+1)) {
			t.Error("a line is wider than the picture")
		}
	}
}

func TestWritePNG(t *testing.T) {
	if _, err := exec.LookPath("pngquant"); err != nil {
		t.Skip("SKIPPED, UNTESTED: there is no pngquant in PATH; apt-get install pngquant")
	}
	noise, flat := image.NewGray(image.Rect(0, 0, 400, 400)), image.NewGray(image.Rect(0, 0, 400, 400))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(random.UintN(256))
	}
	for name, shown := range map[string]image.Image{"noise": noise, "flat": flat} {
		var shot bytes.Buffer
		if err := png.Encode(&shot, shown); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "shot.png")
		err := writePNG(t.Context(), path, shot.Bytes())
		if wrong := (err != nil) != (name == "noise"); wrong {
			t.Errorf("%s: %v", name, err)
		}
		if _, missing := os.Stat(path); (missing == nil) != (err == nil) {
			t.Errorf("%s: written: %v, told: %v", name, missing, err)
		}
	}
}
