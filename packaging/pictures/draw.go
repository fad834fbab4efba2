package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"time"
	"unicode/utf8"
)

// A theme is the colours of a picture.
type theme struct{ background, border, text, dim, prompt, time string }

var (
	light = theme{background: "#ffffff", border: "#d0d7de", text: "#1f2328", dim: "#59636e", prompt: "#1a7f37", time: "#0969da"}
	dark  = theme{background: "#0d1117", border: "#3d444d", text: "#f0f6fc", dim: "#9198a1", prompt: "#3fb950", time: "#4493f8"}
)

// Sizes in pixels; columns in characters. A phone shows the picture at half its size.
const (
	fontSize   = 15
	lineHeight = 22
	charWidth  = 9.0
	margin     = 18
	columns    = 62
)

// draw returns a session as an SVG.
func draw(s session, t theme) []byte {
	var body bytes.Buffer
	y := margin + fontSize
	width := 2*margin + columns*charWidth
	line := func(colour, text string) {
		fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", margin, y, colour, html.EscapeString(text))
	}
	for _, step := range s {
		fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\" fill=\"%s\"><tspan fill=\"%s\">$ </tspan>%s</text>\n",
			margin, y, t.text, t.prompt, html.EscapeString(step.command))
		if step.took > 0 {
			fmt.Fprintf(&body, "<text x=\"%g\" y=\"%d\" fill=\"%s\" text-anchor=\"end\">%s</text>\n",
				width-margin, y, t.time, duration(step.took))
		}
		y += lineHeight
		for _, text := range step.output {
			line(t.dim, cut(text))
			y += lineHeight
		}
		y += lineHeight / 3
	}
	height := y - lineHeight/3 + margin - fontSize
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%d" viewBox="0 0 %g %d" role="img">
<title>A session of ramaria, with the time that each command took</title>
<rect x="0.5" y="0.5" width="%g" height="%d" rx="8" fill="%s" stroke="%s"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="%d" xml:space="preserve">
`, width, height, width, height, width-1, height-1, t.background, t.border, fontSize)
	out.Write(body.Bytes())
	out.WriteString("</g>\n</svg>\n")
	return out.Bytes()
}

// cut shortens a line that does not fit.
func cut(text string) string {
	if utf8.RuneCountInString(text) <= columns {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:columns-1]), " ") + "…"
}

// duration returns a time as people say it: 92 ms, 1.3 s.
func duration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
