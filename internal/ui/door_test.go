package ui

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/engine"
)

// TestMain shows that a server that has ended leaves nothing running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a server of a home without instances.
type site struct {
	*Server
	links chan string
	stop  func()
}

func serve(t *testing.T) *site {
	t.Helper()
	home := t.TempDir()
	e := engine.Engine{UID: os.Geteuid(), Home: home}
	if err := e.Open(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	s := &site{links: make(chan string, 100)}
	var err error
	if s.Server, err = Start(t.Context(), Config{Engine: e, Version: "test", Link: func(url string) { s.links <- url }}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	once := false
	s.stop = func() {
		cancel()
		if !once {
			once = true
			if err := <-ended; err != nil {
				t.Errorf("serve: %v", err)
			}
		}
	}
	t.Cleanup(s.stop)
	return s
}

// visitor is a browser, as far as cookies go.
type visitor struct {
	*http.Client
	t    *testing.T
	page string // the session's page
}

func newVisitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &visitor{Client: &http.Client{Jar: jar, Transport: transport}, t: t}
}

var refresh = regexp.MustCompile(`content="0;url=(/[A-Z2-7]+/)"`)

// enter uses a link.
func (v *visitor) enter(link string) (status int, text string) {
	v.t.Helper()
	status, text = v.get(link)
	if m := refresh.FindStringSubmatch(text); m != nil {
		u, err := url.Parse(link)
		if err != nil {
			v.t.Fatal(err)
		}
		v.page = "http://" + u.Host + m[1]
	}
	return status, text
}

func (v *visitor) get(address string) (status int, text string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.send(req)
}

func (v *visitor) send(req *http.Request) (status int, text string) {
	v.t.Helper()
	resp, err := v.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestLinkWorksOnce lets one browser in by a link, and the next by the next link alone.
func TestLinkWorksOnce(t *testing.T) {
	s := serve(t)
	link := <-s.links
	first, second := newVisitor(t), newVisitor(t)
	if status, text := first.enter(link); status != http.StatusOK || first.page == "" {
		t.Fatalf("the link: %d, %s", status, text)
	}
	if status, text := first.get(first.page); status != http.StatusOK || !strings.Contains(text, `<main id="list"`) {
		t.Errorf("the page: %d, %.300s", status, text)
	}
	if status, text := second.enter(link); status != http.StatusForbidden || !strings.Contains(text, "ramaria ui") || second.page != "" {
		t.Errorf("the link once more: %d, %s", status, text)
	}
	if status, _ := second.get(first.page); status != http.StatusForbidden {
		t.Errorf("the path without the cookie: %d", status)
	}
	next := <-s.links
	if next == link {
		t.Error("the next link is the same")
	}
	if status, _ := second.enter(next); status != http.StatusOK {
		t.Errorf("the next link: %d", status)
	}
	for _, v := range []*visitor{first, second} {
		if status, _ := v.get(v.page + "leases?instance=nosuch"); status != http.StatusConflict {
			t.Errorf("a request of a session: %d", status)
		}
	}
	if first.page == second.page {
		t.Error("both have the same path")
	}
}

// TestOnlyTheSession refuses whatever does not come from a session's page.
func TestOnlyTheSession(t *testing.T) {
	s := serve(t)
	v := newVisitor(t)
	v.enter(<-s.links)
	u, err := url.Parse(v.page)
	if err != nil {
		t.Fatal(err)
	}
	host := u.Host
	_, port, _ := net.SplitHostPort(host)
	for name, tc := range map[string]struct {
		method, path, host, origin string
		cookie                     bool
		want                       int
	}{
		"page":                 {"GET", u.Path, host, "", true, 200},
		"no cookie":            {"GET", u.Path, host, "", false, 403},
		"no session":           {"GET", "/", host, "", true, 403},
		"wrong token":          {"GET", "/?token=AAAA", host, "", true, 403},
		"empty token":          {"GET", "/?token=", host, "", true, 403},
		"another name":         {"GET", u.Path, "evil.example:" + port, "", true, 421},
		"no port":              {"GET", u.Path, "127.0.0.1", "", true, 421},
		"own name":             {"GET", u.Path, "localhost:" + port, "", true, 200},
		"a browser's own wish": {"GET", "/favicon.ico", host, "", false, 204},
		"action":               {"POST", u.Path + "do", host, "http://" + host, true, 400},
		"action, no origin":    {"POST", u.Path + "do", host, "", true, 403},
		"action, other origin": {"POST", u.Path + "do", host, "http://evil.example", true, 403},
		"action, other port":   {"POST", u.Path + "do", host, "http://127.0.0.1:1", true, 403},
		"action, null origin":  {"POST", u.Path + "do", host, "null", true, 403},
		"action, no cookie":    {"POST", u.Path + "do", host, "http://" + host, false, 403},
		"no such path":         {"GET", u.Path + "secret", host, "", true, 404},
		"a file beside":        {"GET", u.Path + "../ui.go", host, "", true, 403},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tc.method, "http://"+host+"/", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			path, query, _ := strings.Cut(tc.path, "?")
			req.URL.Path, req.URL.RawQuery, req.Host = path, query, tc.host
			if tc.origin != "" {
				req.Header.Set("Origin", tc.origin)
			}
			one := newVisitor(t)
			one.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			if tc.cookie {
				for _, c := range v.Jar.Cookies(u) {
					req.AddCookie(c)
				}
			}
			if status, text := one.send(req); status != tc.want && (name != "a file beside" || status == 200) {
				t.Errorf("status %d, want %d: %s", status, tc.want, text)
			}
		})
	}
}

// TestHeaders has the browser keep the page to itself, and the cookie to the session's path.
func TestHeaders(t *testing.T) {
	s := serve(t)
	v := newVisitor(t)
	resp, err := v.Get(<-s.links)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	cookie := resp.Header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie lacks %s: %s", want, cookie)
		}
	}
	if strings.HasSuffix(cookie, "Path=/") || strings.Contains(cookie, "Path=/;") {
		t.Errorf("the cookie goes to every server on 127.0.0.1: %s", cookie)
	}
	for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
		if got := resp.Header.Get(name); !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestEvents streams what the home has, while a page is open, and ends with the server.
func TestEvents(t *testing.T) {
	s := serve(t)
	v := newVisitor(t)
	v.enter(<-s.links)
	if s.hub.watched() {
		t.Error("it watches without a page")
	}
	resp, err := v.Get(v.page + "events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(resp.Body); in.Scan(); {
			lines <- in.Text()
		}
	}()
	expect := func(want string) {
		t.Helper()
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					t.Fatalf("the stream ended before %q", want)
				}
				if strings.Contains(line, want) {
					return
				}
			case <-time.After(time.Minute):
				t.Fatalf("no %q", want)
			}
		}
	}
	expect("event: hello")
	expect(`"command":"ramaria --home `)
	expect("event: look")
	expect(`"instances":[]`)
	expect("event: look")
	s.stop()
	expect("event: end")
	if _, ok := <-lines; ok {
		if _, ok := <-lines; ok {
			if _, ok := <-lines; ok {
				t.Error("the stream goes on after its end")
			}
		}
	}
}

// TestWeight keeps the page small: with all that it loads, which is all that the program has of it.
func TestWeight(t *testing.T) {
	weight := 0
	for _, name := range assetNames() {
		text, err := shrunk(name)
		if err != nil {
			t.Fatal(err)
		}
		weight += len(text)
		if strings.Contains(string(text), "://") && !strings.HasPrefix(name, "uplot/") && !strings.HasSuffix(name, ".svg") {
			t.Errorf("%s has an address: the page loads nothing from elsewhere", name)
		}
		if mediaTypes[name[strings.LastIndex(name, "."):]] == "" {
			t.Errorf("%s has no media type", name)
		}
	}
	t.Logf("the page has %d bytes in %d files", weight, len(assetNames()))
	if weight > MostWeight {
		t.Errorf("the page has %d bytes, of %d", weight, MostWeight)
	}
}

// TestPortTaken says what to do.
func TestPortTaken(t *testing.T) {
	s := serve(t)
	u, err := url.Parse(<-s.links)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Config{Port: port}); err == nil || !strings.Contains(err.Error(), "\nhint: ramaria ui") {
		t.Errorf("a port that is taken: %v", err)
	}
}

// TestCommand quotes as shells take it.
func TestCommand(t *testing.T) {
	for want, got := range map[string]string{
		"ramaria branch shop try":                 command("", actions["branch"].words(request{Instance: "shop", New: "try"})...),
		"ramaria --home '/a b' down shop":         command("/a b", actions["down"].words(request{Instance: "shop"})...),
		"ramaria --home /x mark a l --replace":    command("/x", actions["mark"].words(request{Instance: "a", Label: "l", Replace: true})...),
		"ramaria db reset -i shop t_1 'it'\\''s'": command("", actions["reset"].words(request{Instance: "shop", Databases: []string{"t_1", "it's"}})...),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
