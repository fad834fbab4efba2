package main

import (
	"context"
	"path/filepath"
)

const (
	// benchCommand takes a minute. What it measures differs by so much that a busy
	// machine shows it too.
	benchCommand = "ramaria bench fork update --quick --report report.html"
	reportWidth  = 880
	// reportEnd is below the headline and its picture.
	reportEnd = `Math.ceil(document.querySelector(".headline").getBoundingClientRect().bottom + scrollY) + 24`
)

// drawReport takes a screenshot of the head of a report of ramaria bench.
func drawReport(ctx context.Context, o options) error {
	return inHome(ctx, o, func(sh shell) error {
		if _, err := sh.run(ctx, benchCommand); err != nil {
			return err
		}
		return inBrowser(ctx, func(t tab) error {
			if err := t.open("file://"+filepath.Join(sh.dir, "report.html"), reportWidth); err != nil {
				return err
			}
			return t.shoot(o.out, "report", reportWidth, reportEnd)
		})
	})
}
