package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newLs(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the instances",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLs(cmd.Context(), a, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	return cmd
}

// listing is what `ls` and `status` say of one instance; --json prints it as it
// is. Fields are added, never changed (see docs/json.md).
type listing struct {
	Name     string         `json:"name"`
	Phase    instance.Phase `json:"phase"`
	Since    time.Time      `json:"since"`
	Reason   string         `json:"reason,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	Server   string         `json:"server,omitempty"`
	Volume   string         `json:"volume"`
	Dir      string         `json:"dir"`
	DataDir  string         `json:"datadir"`
	// Size is what its files hold, in bytes. Blocks that it shares with its image, its
	// parent or its marks count in each of them: see volume ls for what is taken.
	Size     int64     `json:"size"`
	Image    string    `json:"image,omitempty"`
	Origin   string    `json:"origin,omitempty"`
	Host     string    `json:"host,omitempty"`
	Port     int       `json:"port,omitempty"`
	Socket   string    `json:"socket,omitempty"`
	User     string    `json:"user,omitempty"`
	Database string    `json:"database,omitempty"`
	Created  time.Time `json:"created"`
	// Log is off for a server without a binary log, else on.
	Log string `json:"log,omitempty"`
	// Marks are what ramaria rewind can go back to, the oldest first.
	Marks []instance.Mark `json:"marks,omitempty"`
	// API is the socket of its HTTP API while it runs.
	API string `json:"api,omitempty"`
	// Passing instances belong to a `ramaria run`.
	Passing       bool    `json:"passing,omitempty"`
	SupervisorPID int     `json:"supervisor_pid,omitempty"`
	ServerPID     int     `json:"server_pid,omitempty"`
	ReadySeconds  float64 `json:"ready_seconds,omitempty"`
	// Confined says that the running server reaches nothing but its own files; Unconfined says
	// why it does not.
	Confined   bool   `json:"confined,omitempty"`
	Unconfined string `json:"unconfined,omitempty"`
}

// list gathers what the files say of one instance: beside an error, what could be read.
func (a *app) list(r *instance.Record) (listing, error) {
	state, err := r.State()
	if err != nil {
		return listing{}, err
	}
	l := listing{
		Name: r.Name, Phase: state.Phase, Since: state.Since, Reason: state.Reason, Volume: r.Volume, Dir: r.Dir, DataDir: r.DataDir(),
		Created: r.Created, Passing: r.Passing,
	}
	if state.Phase == instance.Gone {
		return l, nil
	}
	if state.Phase.Alive() {
		l.Confined, l.Unconfined = state.Confined, unconfined(r, state)
		l.Warnings, l.SupervisorPID, l.ServerPID, l.ReadySeconds = state.Warnings, state.SupervisorPID, state.ServerPID, state.ReadySeconds
	}
	i, err := a.engine.Registry.Open(r.Name)
	if err != nil {
		return l, err
	}
	l.Server, l.Image, l.Origin, l.Log = i.Server.Name(), i.Image, i.Origin, i.Spec.LogUse()
	l.Host, l.Port, l.Socket, l.User, l.Database = i.Endpoint.Host, i.Endpoint.Port, i.Endpoint.Socket, i.Endpoint.User, i.Endpoint.Database
	if state.Phase.Alive() {
		l.API = r.APISocket()
	}
	if l.Marks, err = r.Marks(); err != nil {
		return listing{}, err
	}
	l.Size, err = sys.DiskUsage(r.Dir)
	return l, err
}

// unconfined says why a running server is not confined, "" if it is.
func unconfined(r *instance.Record, s instance.State) string {
	switch why := server.Unconfinable(); {
	case s.Confined:
		return ""
	case r.Spec.Unconfined():
		return "--confine off"
	case why != "":
		return why
	}
	return "an older ramaria started it"
}

func runLs(_ context.Context, a *app, asJSON bool) error {
	records, err := a.engine.Registry.List()
	if err != nil {
		return err
	}
	if err := a.sayBroken(); err != nil {
		return err
	}
	all := []listing{}
	for _, r := range records {
		l, err := a.list(r)
		if err != nil && l.Name == "" {
			return err
		}
		if err != nil { // one damaged file must not hide the others
			a.say("warning: %s", err)
		}
		all = append(all, l)
	}
	if asJSON {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		a.say("no instances; ramaria up makes one")
		return nil
	}
	t := newTable("NAME", "STATE", "SERVER", "VOLUME", "SIZE", "PORT", "DATABASE", "MADE FROM")
	for _, l := range all {
		port := ""
		if l.Phase.Alive() {
			port = strconv.Itoa(l.Port)
		}
		phase := string(l.Phase)
		if len(l.Warnings) > 0 {
			phase += " (!)"
		}
		t.row(l.Name, phase, l.Server, l.Volume, volume.FormatBytes(l.Size), port, l.Database, l.Origin)
	}
	t.print(a.stdout)
	for _, l := range all {
		for _, w := range l.Warnings {
			a.say("warning: %s", w)
		}
	}
	return nil
}

// sayBroken names the instances whose records cannot be read.
func (a *app) sayBroken() error {
	broken, err := a.engine.Registry.Broken()
	for _, name := range broken {
		_, err := a.engine.Registry.Get(name)
		a.say("warning: %s", err)
	}
	return err
}

func newStatus(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "status [NAME]",
		Short:             "Show the state of an instance; exit status 3 unless it runs",
		Long:              "Show the state of an instance. The exit status is 3 unless it runs.\n\n" + whichOne,
		Args:              maxArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(_ *cobra.Command, args []string) error {
			return runStatus(a, a.meant(args), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	return a.named(cmd)
}

func runStatus(a *app, name string, asJSON bool) error {
	r, err := a.engine.Registry.Get(name)
	if err != nil {
		return err
	}
	l, err := a.list(r)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		err = a.printJSON(l)
	default:
		a.printStatus(l)
	}
	if err == nil && l.Phase != instance.Running {
		return statusError(exitNotFound)
	}
	return err
}

func (a *app) printStatus(l listing) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.stdout, "%-10s %s\n", name, progress.Plain(fmt.Sprintf(format, args...)))
	}
	line("name", "%s", l.Name)
	line("state", "%s since %s", l.Phase, l.Since.Local().Format(timeFormat))
	if l.Reason != "" {
		line("reason", "%s", indent(l.Reason, 11))
	}
	for _, w := range l.Warnings {
		line("warning", "%s", indent(w, 11))
	}
	if l.Server != "" {
		line("server", "%s", l.Server)
		from := l.Origin
		if l.Image != "" {
			from += " (image " + l.Image + ")"
		}
		line("made from", "%s", from)
		line("volume", "%s, %s in %s", l.Volume, volume.FormatBytes(l.Size), l.Dir)
		if l.Confined {
			line("confined", "by Landlock: the server reaches its own files only")
		} else if l.Unconfined != "" {
			line("confined", "no: %s", l.Unconfined)
		}
		line("database", "%s", l.Database)
		line("user", "%s", l.User)
		if l.Log == instance.LogOff {
			line("log", "off: no templates, clones or resets")
		}
	}
	if len(l.Marks) > 0 {
		labels := make([]string, len(l.Marks))
		for i, m := range l.Marks {
			labels[i] = m.Label
		}
		line("marks", "%s", strings.Join(labels, ", "))
	}
	if l.Phase.Alive() {
		line("tcp", "%s:%d", l.Host, l.Port)
		line("socket", "%s", l.Socket)
		line("api", "%s", l.API)
		line("processes", "server %d, supervisor %d", l.ServerPID, l.SupervisorPID)
	}
	if hint := a.statusHint(l); hint != "" {
		a.say("hint: %s", hint)
	}
}

// statusHint is the next command for an instance that does not run.
func (a *app) statusHint(l listing) string {
	switch l.Phase {
	case instance.Crashed:
		return fmt.Sprintf("ramaria up %s recovers it; ramaria up %s --fresh starts again from the clean image; ramaria logs %s has the log", l.Name, l.Name, l.Name)
	case instance.Gone:
		return fmt.Sprintf("ramaria up %s makes it again; ramaria down %s --rm forgets it", l.Name, l.Name)
	case instance.Stopped:
		return fmt.Sprintf("ramaria up %s starts it", l.Name)
	case instance.Starting, instance.Running, instance.Stopping:
	}
	return ""
}
