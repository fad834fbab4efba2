package tests

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// TestUIRows opens more rows than a browser has connections to a server: buttons work all the same. Then it kills a
// supervisor while its row is open, and removes an instance.
func TestUIRows(t *testing.T) {
	t.Parallel()
	b := newUIBrowser(t)
	h := newTestHome(t)
	const rows = 8
	name := func(n int) string { return fmt.Sprintf("i%d", n) }
	for n := range rows {
		h.ramaria("up", name(n))
	}
	link, end := h.startUI()
	defer end()
	b.open(link)
	for n := range rows {
		b.until("it is listed", `document.querySelector('[data-name="`+name(n)+`"]') !== null`)
		b.row(name(n))
		b.until("its log is shown", `document.querySelector('[data-name="`+name(n)+`"] pre.log').textContent.includes("ready for connections")`)
	}
	b.do(name(0), "mark", "label", "here", "ramaria --home "+h.home+" mark "+name(0)+" here")
	b.until("the mark is listed", `document.querySelector('[data-name="`+name(0)+`"] [aria-label="Rewind to here"]') !== null`)

	var state pids
	if err := json.Unmarshal([]byte(h.ramaria("status", name(1), "--json")), &state); err != nil || state.Supervisor == 0 {
		t.Fatalf("the supervisor's process: %d, %v", state.Supervisor, err)
	}
	if err := syscall.Kill(state.Supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.until("it is shown as crashed", `document.querySelector('[data-name="`+name(1)+`"] .dot.crashed') !== null`)
	b.refused(name(1), "down", "it does not run")
	h.ramaria("up", name(1))
	b.until("it is shown as running", `document.querySelector('[data-name="`+name(1)+`"] .dot.running') !== null`)
	for _, f := range b.faults() {
		// While it was dead, and its row still open, it was perhaps asked for its leases.
		if strings.Contains(f, "409") && strings.HasSuffix(f, "leases?instance="+name(1)) {
			continue
		}
		t.Errorf("the page: %s", f)
	}
	h.ramaria("replica", "add", name(4), "copy")
	b.until("a replica stands below its source", `document.querySelector('[data-group="`+name(4)+`"] + [data-name="`+name(4)+`"] + [data-name="copy"] .role')?.textContent === "replica"`)
	b.until("its group says that it follows", `document.querySelector('[data-group="`+name(4)+`"]').textContent.includes("1 of 1 follows")`)
	h.ramaria("replica", "rm", "copy")
	b.until("its group is gone", `document.querySelector('[data-group]') === null`)

	h.ramaria("up", "calm")
	h.ramaria("down", "calm")
	b.until("what is stopped is folded", `document.querySelector("main").lastElementChild.hidden && document.querySelector(".fold").textContent === "1 stoppedcalm"`)
	b.click(".fold")
	b.until("and unfolded", `!document.querySelector('[data-name="calm"]').hidden && document.querySelector('[data-name="calm"]').offsetHeight < 45`)

	h.ramaria("down", name(2), "--rm")
	b.until("it is not listed any more", `document.querySelector('[data-name="`+name(2)+`"]') === null`)
	b.do(name(3), "mark", "label", "there", "ramaria --home "+h.home+" mark "+name(3)+" there")
}
