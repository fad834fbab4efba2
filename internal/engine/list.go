package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/service"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// InstanceListing describes one instance; see docs/json.md, ls and status. Fields are added,
// never changed.
type InstanceListing struct {
	Name   string         `json:"name"`
	Phase  instance.Phase `json:"phase"`
	Since  time.Time      `json:"since,omitzero"`
	Reason string         `json:"reason,omitempty"`
	// Moved says when and why it was moved to another volume unasked.
	Moved    string   `json:"moved,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Notices  []string `json:"notices,omitempty"`
	Server   string   `json:"server,omitempty"`
	Volume   string   `json:"volume"`
	Dir      string   `json:"dir"`
	DataDir  string   `json:"datadir"`
	// Size is the size of its files, in bytes. Blocks that it shares with its image, its parent
	// or its marks count in each of them; see volume ls for what is really taken.
	Size int64 `json:"size"`
	// Room says how full its volume is, and how fast it fills, while it runs.
	Room   *client.Room `json:"room,omitempty"`
	Image  string       `json:"image,omitempty"`
	Origin string       `json:"origin,omitempty"`
	Host   string       `json:"host,omitempty"`
	Port   int          `json:"port,omitempty"`
	Socket string       `json:"socket,omitempty"`
	// Front is the port of the door that leases clones, 0 for none.
	Front int `json:"front,omitempty"`
	// RemoteAPI is how clients on other machines find the API while it runs, "" if they cannot.
	RemoteAPI string    `json:"remote_api,omitempty"`
	User      string    `json:"user,omitempty"`
	Database  string    `json:"database,omitempty"`
	Created   time.Time `json:"created"`
	// Log is off for a server without a binary log, else on.
	Log string `json:"log,omitempty"`
	// Replica says how a replica follows its source, as it was last found.
	Replica *client.Replica `json:"replica,omitempty"`
	// MemberOf is the cluster that it is a member of, whether it runs or not.
	MemberOf string `json:"-"`
	// Cluster says what a member of a cluster is in it.
	Cluster *client.Membership `json:"cluster,omitempty"`
	// Replicas are the instances that follow this one, and WaitsFor that of them that commits wait for; ls leaves them out.
	Replicas []string `json:"replicas,omitempty"`
	WaitsFor string   `json:"waits_for,omitempty"`
	// HandOver says where a hand-over to another server stands; ls leaves it out.
	HandOver *HandOverListing `json:"hand_over,omitempty"`
	// Durable says what a durable instance promises; ls leaves it out.
	Durable *client.Durable `json:"durable,omitempty"`
	// Marks are the marks to which ramaria rewind can go back, the oldest first.
	Marks []instance.Mark `json:"marks,omitempty"`
	// API is the socket of its HTTP API while it runs.
	API string `json:"api,omitempty"`
	// Passing instances belong to a `ramaria run`.
	Passing       bool    `json:"passing,omitempty"`
	SupervisorPID int     `json:"supervisor_pid,omitempty"`
	ServerPID     int     `json:"server_pid,omitempty"`
	ReadySeconds  float64 `json:"ready_seconds,omitempty"`
	// Doublewrite is whether a running server with --device-atomic has a doublewrite buffer, and why.
	Doublewrite instance.DoublewriteState `json:"doublewrite,omitzero"`
	// TmpDir is where temporary files lie, of a running server.
	TmpDir instance.TmpDirState `json:"tmpdir,omitzero"`
	// Confined says that the running server reaches its own files only; Unconfined says why it
	// does not.
	Confined   bool   `json:"confined,omitempty"`
	Unconfined string `json:"unconfined,omitempty"`
	// Service is the unit by which systemd starts it, "" for none.
	Service string `json:"service,omitempty"`
	// StandsInFor is the service that it was adopted from, "" for none.
	StandsInFor string `json:"stands_in_for,omitempty"`
}

// ListInstances returns all instances. It leaves one whose record cannot be read out, with a
// note.
func (e *Engine) ListInstances() ([]InstanceListing, error) {
	records, err := e.Registry.List()
	if err != nil {
		return nil, err
	}
	broken, err := e.Registry.Broken()
	for _, name := range broken {
		_, err := e.Registry.Get(name)
		e.note("warning: %s", err)
	}
	if err != nil {
		return nil, err
	}
	all := []InstanceListing{}
	for _, r := range records {
		l, err := e.list(r)
		if err != nil && l.Name == "" {
			return nil, err
		}
		if err != nil { // one damaged file must not hide the others
			e.note("warning: %s", err)
		}
		all = append(all, l)
	}
	return all, nil
}

// Status returns one instance.
func (e *Engine) Status(name string) (InstanceListing, error) {
	r, err := e.Registry.Get(name)
	if err != nil {
		return InstanceListing{}, err
	}
	l, err := e.list(r)
	if err != nil {
		return l, err
	}
	if r.Spec.Replica != nil {
		if f, err := r.Following(); err == nil {
			l.Replica = &client.Replica{Of: r.Spec.Replica.Of, State: "connecting"} // until it says more
			if f != nil {
				l.Replica = &f.Replica
			}
			if l.Phase != instance.Running {
				l.Replica.State, l.Replica.LagSeconds, l.Replica.LagBytes = "stopped", nil, nil
			}
		}
	}
	followers, err := e.Registry.Followers(name)
	if err != nil {
		return l, err
	}
	for _, f := range followers {
		l.Replicas = append(l.Replicas, f.Name)
	}
	if i, err := e.Registry.Open(name); err == nil {
		l.WaitsFor = i.WaitsFor
	}
	if l.HandOver, err = e.listHandOver(r, l.Phase == instance.Running); err != nil {
		return l, err
	}
	if dir := e.archiveDir(name, r.Spec); dir != "" {
		fences, err := durable.FencesOf(r) // before the archive: what let them go is told of in any case
		if err != nil {
			return l, err
		}
		if l.Durable, err = durable.Describe(dir, r.Spec); err != nil {
			l.Durable = durable.Unusable(dir, r.Spec, err)
			warning := "its archive cannot be used: " + err.Error()
			if errors.Is(err, archive.ErrNoArchive) {
				warning += "\nhint: " + archiveBack(r, l.Phase)
			}
			l.Warnings = append(l.Warnings, warning)
		}
		if state, err := r.State(); err == nil && state.Phase.Alive() {
			l.Durable.SlowedSince, l.Durable.BlindSince = state.SlowedSince, state.BlindSince
		}
		l.Durable.Fences = fences
		if l.Durable.Buckets, err = durable.Buckets(r, l.Durable.Position); err != nil {
			return l, err
		}
	}
	return l, nil
}

// archiveBack is how an instance goes on whose archive is not where it should be.
func archiveBack(r *instance.Record, phase instance.Phase) string {
	moved := fmt.Sprintf("ramaria up %s --archive DIR, where it is now", r.Name)
	switch {
	case phase.Alive():
		return fmt.Sprintf("put it back there; or ramaria down %[1]s && %[2]s; or ramaria down %[1]s && ramaria up %[1]s --durable=off, with the data in RAM", r.Name, moved)
	case phase == instance.Gone:
		return moved + fromBucket(r)
	}
	return fmt.Sprintf("%s; or ramaria up %s --durable=off, with the data in RAM", moved, r.Name)
}

// list gathers what the files say of one instance: beside an error, what could be read.
func (e *Engine) list(r *instance.Record) (InstanceListing, error) {
	state, err := r.State()
	if err != nil {
		return InstanceListing{}, err
	}
	l := InstanceListing{
		Name: r.Name, MemberOf: r.Spec.Cluster, Phase: state.Phase, Since: state.Since, Reason: state.Reason, Moved: state.Moved, Volume: r.Volume, Dir: r.Dir, DataDir: r.DataDir(),
		Created: r.Created, Passing: r.Passing,
	}
	if u, err := e.serviceOf(r.Name); err == nil && u != nil {
		l.Service = service.Name(r.Name)
		if n, err := e.adoptionOf(r.Name); err == nil && n != nil {
			l.StandsInFor = n.Service
		}
	}
	if state.Phase == instance.Gone {
		return l, nil
	}
	if state.Phase.Alive() || state.Phase == instance.Stopped {
		l.Warnings, l.Notices = state.Warnings, state.Notices
	}
	if state.Phase.Alive() {
		l.Confined, l.Unconfined = state.Confined, unconfined(r, state)
		l.TmpDir, l.Doublewrite, l.Cluster = state.TmpDir, state.Doublewrite, state.Cluster
		l.SupervisorPID, l.ServerPID, l.ReadySeconds = state.SupervisorPID, state.ServerPID, state.ReadySeconds
	}
	i, err := e.Registry.Open(r.Name)
	if err != nil {
		return l, err
	}
	l.Server, l.Image, l.Origin, l.Log, l.Front = i.Server.Name(), i.Image, i.Origin, i.Spec.LogUse(), i.Spec.Front
	l.Host, l.Port, l.Socket, l.User, l.Database = i.Endpoint.Host, i.Endpoint.Port, i.Endpoint.Socket, i.Endpoint.User, i.Endpoint.Database
	if state.Phase.Alive() {
		l.API = r.APISocket()
		if l.RemoteAPI, _, err = r.RemoteAPI(); err != nil {
			return l, err
		}
		if l.Room, err = r.Room(); err != nil {
			return l, err
		}
	}
	if l.Marks, err = r.Marks(); err != nil {
		return InstanceListing{}, err
	}
	unfinished, err := r.Unfinished(e.Registry, state.Phase == instance.Running)
	if err != nil {
		return l, err
	}
	for _, u := range unfinished {
		l.Warnings = append(l.Warnings, fmt.Sprintf("the load of %s into database %s was killed, or lost the server (it began %s): rows may be missing, and keys and foreign keys of its tables\n"+
			"hint: ramaria load %s %[2]s FILE, with the dump again; where that has no DROP TABLE, behind DROP DATABASE", strings.Join(u.Dumps, ", "), u.Database, u.Began.Format(time.DateTime), r.Name))
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
