package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/verify"
)

// mostFindings is how many findings of one sort are shown; --json has all.
const mostFindings = 20

// printReport prints the verdict, and what is wrong, changed or worth knowing.
func (a *app) printReport(r *verify.Report) {
	fmt.Fprintln(a.stdout, progress.Plain(headline(r)))
	if r.Error != "" {
		fmt.Fprintln(a.stdout, progress.Plain(r.Error))
		return
	}
	a.printFindings("", r.Problems)
	if since := r.Against; since != nil {
		fmt.Fprintf(a.stdout, "since %s: %s\n", since.Verified.Local().Format(timeFormat), difference(r))
		a.printFindings("  ", r.Changes)
	}
	a.printFindings("note: ", r.Notes)
}

func (a *app) printFindings(mark string, list []verify.Finding) {
	if mark == "" {
		mark = "  "
	}
	for i, f := range list {
		if i == mostFindings {
			fmt.Fprintf(a.stdout, "%sand %d more, which --json has\n", mark, len(list)-i)
			return
		}
		fmt.Fprintln(a.stdout, mark+indent(progress.Plain(f.String()), len(mark)+2))
	}
}

// headline is the verdict in one line.
func headline(r *verify.Report) string {
	if r.Status == verify.Unrestorable {
		return fmt.Sprintf("backup %s is not restorable:", r.Backup)
	}
	verdict := "good"
	if r.Status == verify.Faulty {
		verdict = "faulty, " + number(int64(len(r.Problems)), "problem")
	}
	restored := short(time.Duration(r.RestoreSeconds * float64(time.Second)))
	line := fmt.Sprintf("backup %s is %s: %s, %s, restored in %s", r.Backup, verdict, number(int64(len(r.Tables)), "table"), rows(r.Rows), restored)
	if r.LastChange != nil {
		line += fmt.Sprintf(", last change %s (%s)", progress.Ago(*r.LastChange), r.LastChangeBy)
	}
	return line
}

// difference is how the backup has grown.
func difference(r *verify.Report) string {
	d := r.Rows - r.Against.Rows
	text := "as many rows"
	if d != 0 {
		text = fmt.Sprintf("%+d rows", d)
	}
	if d := len(r.Tables) - r.Against.Tables; d != 0 {
		text += fmt.Sprintf(", %+d tables", d)
	}
	return text
}

// number is a number of things.
func number(n int64, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return strconv.FormatInt(n, 10) + " " + of + "s"
}

// rows is a number of rows, rounded where it is large.
func rows(n int64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}} {
		if float64(n) >= unit.of {
			return strings.TrimSuffix(strconv.FormatFloat(float64(n)/unit.of, 'f', 1, 64), ".0") + " " + unit.name + " rows"
		}
	}
	return number(n, "row")
}
