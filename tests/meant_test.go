package tests

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// meantArgs are what commands want besides the instance, for all that may leave that out: each
// then names the instance in its answer, or in its refusal, since none runs.
var meantArgs = map[string][]string{
	"up": nil, "down": {"--rm"}, "status": nil, "env": nil, "sql": {"-e", "SELECT 1"}, "logs": nil, "front": nil,
	"mark ls": nil, "backup": nil, "backup ls": nil, "backup verify": nil, "backup prune": nil,
	"template add": {"t"}, "template ls": nil, "template rm": {"t"},
	"db new": {"t"}, "db reset": {"c"}, "db savepoint": {"c"}, "db rollback": {"c"}, "db drop": {"c"}, "db keep": {"c"}, "db pool": nil, "db ls": nil,
}

// situations are environments of a command without a name. In values, SOCKET stands for the socket of
// the instance "meant" and PLACE for the directory of instances of this home.
var situations = []struct {
	name string
	env  []string
	args []string
	// want is the instance that is meant; "" if the command is refused, and says complaint.
	want, complaint string
	// far is what commands say that find the instance by its API alone, "" if the same.
	far string
}{
	{name: "nothing is set", want: "main"},
	{name: "the API is", env: []string{"RAMARIA_API=SOCKET"}, want: "meant"},
	{name: "the name is", env: []string{"RAMARIA_INSTANCE=meant"}, want: "meant"},
	{name: "both are", env: []string{"RAMARIA_API=SOCKET", "RAMARIA_INSTANCE=meant"}, want: "meant"},
	{name: "one is typed", env: []string{"RAMARIA_API=SOCKET", "RAMARIA_INSTANCE=meant"}, args: []string{"-i", "main"}, want: "main"},
	{name: "one is typed, and the API is elsewhere", env: []string{"RAMARIA_API=https://127.0.0.1:1#sha256=00"}, args: []string{"-i", "meant"}, want: "meant"},
	{name: "the API is of one that is gone", env: []string{"RAMARIA_API=PLACE/gone/api.sock", "RAMARIA_INSTANCE=gone"}, want: "gone"},
	{name: "the API is of another home", env: []string{"RAMARIA_API=/nowhere/instances/meant/api.sock", "RAMARIA_INSTANCE=meant"}, complaint: "RAMARIA_API leads to no instance of this home", far: "no instance answers"},
	{name: "the API is on another machine", env: []string{"RAMARIA_API=https://127.0.0.1:1#sha256=00"}, complaint: "RAMARIA_API leads to an instance on another machine", far: "RAMARIA_TOKEN"},
	{name: "they contradict each other", env: []string{"RAMARIA_API=SOCKET", "RAMARIA_INSTANCE=other"}, complaint: "RAMARIA_API leads to meant, and RAMARIA_INSTANCE names other"},
	{name: "the name is none", env: []string{"RAMARIA_INSTANCE=../meant"}, complaint: "hint: unset RAMARIA_INSTANCE, or set it to a name"},
}

// TestMeant holds every command that works on an instance against one rule: which instance it means
// when its NAME is left out. One that needs its NAME does without for no variable.
func TestMeant(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	for _, name := range []string{"main", "meant"} {
		h.ramaria("up", name, "--database", name)
	}
	_, rest, _ := strings.Cut(h.ramaria("env", "meant"), "RAMARIA_API='")
	socket, _, _ := strings.Cut(rest, "'")
	h.ramaria("down", "main", "meant")
	place := strings.TrimSuffix(socket, "/meant/api.sock")
	if place == socket {
		t.Fatalf("the API's socket is %s", socket)
	}
	fill := strings.NewReplacer("SOCKET", socket, "PLACE", place)
	mayLeaveOut, need := aboutInstances(h)
	if len(mayLeaveOut) < 20 || len(need) < 10 {
		t.Fatalf("found only %q and %q", mayLeaveOut, need)
	}
	for _, s := range situations {
		h.env = []string{"RAMARIA_API=", "RAMARIA_INSTANCE="}
		for _, kv := range s.env {
			h.env = append(h.env, fill.Replace(kv))
		}
		for _, path := range mayLeaveOut {
			args, known := meantArgs[path]
			if !known {
				t.Fatalf("ramaria %s may leave the instance out: say in meantArgs how to call it", path)
			}
			if path == "up" && s.want == "gone" {
				continue // it makes the instance
			}
			words := slices.Concat(strings.Fields(path), args, s.args)
			out, talk, err := h.try(words...)
			said := out + "\n" + talk
			complaint := s.complaint
			if onlyAPI := slices.Contains([]string{"template", "db"}, words[0]); s.far != "" && (onlyAPI || words[0] == "front" && strings.Contains(s.far, "TOKEN")) {
				complaint = s.far
			}
			switch {
			case s.want == "" && (err == nil || !strings.Contains(said, complaint)):
				t.Errorf("%s: ramaria %s: %v, want %q:\n%s", s.name, strings.Join(words, " "), err, complaint, said)
			case s.want != "" && !names(said, s.want):
				t.Errorf("%s: ramaria %s is not about %s: %v\n%s", s.name, strings.Join(words, " "), s.want, err, said)
			case s.want != "" && names(said, "main") && s.want != "main", names(said, "meant") && s.want == "main":
				t.Errorf("%s: ramaria %s is about more than %s: %v\n%s", s.name, strings.Join(words, " "), s.want, err, said)
			}
			h.restoreMeant(path, s.want)
		}
		for _, path := range need {
			if _, talk, err := h.try(strings.Fields(path)...); err == nil || !strings.Contains(talk, "hint: ") {
				t.Errorf("%s: ramaria %s without its NAME: %v\n%s", s.name, path, err, talk)
			}
		}
	}
}

// names reports whether a text has a name as a word, not as a part of another.
func names(text, name string) bool {
	return regexp.MustCompile(`(^|[^\w.-])` + name + `($|[^\w-])`).MatchString(text)
}

// restoreMeant has both instances be there and not run, after a command that was about one of them.
func (h *testHome) restoreMeant(path, about string) {
	h.t.Helper()
	env := h.env
	defer func() { h.env = env }()
	h.env = []string{"RAMARIA_API=", "RAMARIA_INSTANCE="}
	if path == "down" {
		there := h.ramaria("ls")
		for _, name := range []string{"main", "meant"} {
			if got := strings.Contains(there, "\n"+name+" "); got == (name == about) {
				h.t.Errorf("after ramaria down --rm about %q there are:\n%s", about, there)
			}
		}
		if about == "main" || about == "meant" {
			h.ramaria("up", about, "--database", about)
		}
	}
	if about != "" && about != "gone" && (path == "up" || path == "down") {
		h.ramaria("down", about)
	}
}

// aboutInstances are the paths of all commands that are about an instance: those whose instance
// may be left out, and those that need a NAME. They are found as a user finds them, by --help.
func aboutInstances(h *testHome) (mayLeaveOut, need []string) {
	sub := regexp.MustCompile(`(?m)^  ([a-z][a-z-]*) +\S`)
	var walk func(path string)
	walk = func(path string) {
		help := h.ramaria(append(strings.Fields(path), "--help")...)
		_, usage, _ := strings.Cut(help, "Usage:\n")
		usage, _, _ = strings.Cut(usage, "\n\n")
		if !strings.Contains(usage, "ramaria "+path) {
			return // a word of the text, and no command
		}
		if flag := regexp.MustCompile(`--instance.*`).FindString(help); strings.Contains(flag, "default: ") || flag != "" && strings.Contains(usage, " [NAME") {
			mayLeaveOut = append(mayLeaveOut, path)
		} else if flag != "" {
			need = append(need, path)
		}
		for _, m := range sub.FindAllStringSubmatch(help, -1) {
			if m[1] != "ramaria" && m[1] != "help" && m[1] != "completion" {
				walk(strings.TrimSpace(path + " " + m[1]))
			}
		}
	}
	walk("")
	return mayLeaveOut, need
}
