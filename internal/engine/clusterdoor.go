package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// farMember is what a member tells other machines.
type farMember struct {
	MemberListing
	URL     string         `json:"url"`
	Quorum  bool           `json:"quorum"`
	Silent  bool           `json:"silent"`
	Apart   bool           `json:"apart"`
	Cut     bool           `json:"cut"`
	Listed  []string       `json:"listed"`
	Primary string         `json:"primary"`
	Purged  string         `json:"purged"`
	Version server.Version `json:"version"`
	// Cluster is what that machine knows of the cluster.
	Cluster *cluster.Cluster `json:"cluster"`
}

// maxWord and maxNodes bound what others send, in bytes.
const maxWord, maxNodes = 4096, 1 << 20

// lockPatience is how long another machine waits for a command on this one.
const lockPatience = 2 * time.Second

// memberDoor answers other machines that ask about a member on this one. Who may ask was settled by TLS.
func (e *Engine) memberDoor(name string) http.Handler {
	mux := http.NewServeMux()
	handle := func(method, path string, do func(w http.ResponseWriter, r *http.Request, c *cluster.Cluster, n cluster.Node) error) {
		mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, r *http.Request) {
			c, n, err := e.clusterOf(name)
			if err == nil {
				err = do(w, r, c, n)
			}
			if err == nil {
				return
			}
			http.Error(w, err.Error(), doorStatus(err))
		})
	}
	handle(http.MethodGet, cluster.PathMember, func(w http.ResponseWriter, r *http.Request, c *cluster.Cluster, n cluster.Node) error {
		m, err := e.listMember(r.Context(), n)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(farMember{
			MemberListing: m, URL: m.URL, Quorum: m.Quorum, Silent: m.Silent, Apart: m.apart, Cut: m.cut, Listed: m.listed, Primary: m.primary, Purged: m.purged, Version: m.version, Cluster: c.Shared(),
		})
	})
	handle(http.MethodPut, cluster.PathNodes, func(_ http.ResponseWriter, r *http.Request, c *cluster.Cluster, _ cluster.Node) error {
		var change cluster.Change
		if err := json.NewDecoder(io.LimitReader(r.Body, maxNodes)).Decode(&change); err != nil {
			return RequestError{err}
		}
		return e.changeCluster(r.Context(), c.Name, func(c *cluster.Cluster) error { return c.Apply(change) })
	})
	handle(http.MethodPut, cluster.PathWord, func(_ http.ResponseWriter, r *http.Request, c *cluster.Cluster, n cluster.Node) error {
		var said cluster.Word
		if err := json.NewDecoder(io.LimitReader(r.Body, maxWord)).Decode(&said); err != nil {
			return RequestError{err}
		}
		i, err := e.Registry.Open(n.Name)
		if err != nil {
			return err
		}
		return e.clusters().WriteWord(c.Name, n, said.Text, i.Account)
	})
	handle(http.MethodGet, cluster.PathData, func(w http.ResponseWriter, r *http.Request, _ *cluster.Cluster, n cluster.Node) error {
		return e.sendData(r.Context(), w, n.Name)
	})
	handle(http.MethodGet, cluster.PathLog, func(w http.ResponseWriter, r *http.Request, _ *cluster.Cluster, n cluster.Node) error {
		return e.sendTransactions(r.Context(), w, n.Name, r.URL.RawQuery)
	})
	return mux
}

// sendTransactions sends statements that do what transactions did that the log of a member has.
func (e *Engine) sendTransactions(ctx context.Context, w http.ResponseWriter, name, query string) error {
	gtids, err := url.QueryUnescape(query)
	if err != nil {
		return RequestError{err}
	}
	i, err := e.Registry.Open(name)
	if err != nil {
		return err
	}
	statements, err := e.transactions(ctx, i, gtids)
	if err != nil {
		return err
	}
	defer statements.Close()
	if _, err := io.Copy(&hurried{w: w, c: http.NewResponseController(w)}, statements); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// doorStatus is the status of an answer that is an error.
func doorStatus(err error) int {
	var q RequestError
	switch {
	case errors.Is(err, errBusy), errors.Is(err, cluster.ErrTaken):
		return http.StatusConflict
	case errors.Is(err, cluster.ErrLeft):
		return http.StatusGone
	case errors.As(err, &q):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// clusterOf returns the cluster of an instance, and which member of it the instance is.
func (e *Engine) clusterOf(name string) (*cluster.Cluster, cluster.Node, error) {
	r, err := e.Registry.Get(name)
	if err != nil {
		return nil, cluster.Node{}, err
	}
	c, err := e.clusters().Get(r.Spec.Cluster)
	if err != nil {
		return nil, cluster.Node{}, err
	}
	n, number := c.Node(name)
	if number == 0 {
		return nil, n, cluster.ErrLeft
	}
	return c, n, nil
}

// errBusy says that a command is at work on the cluster.
var errBusy = errors.New("a command is at work on the cluster there")

// changeCluster changes what is written down of a cluster while no command is at work on it.
func (e *Engine) changeCluster(ctx context.Context, name string, change func(*cluster.Cluster) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	lock, err := e.clusters().Lock(ctx, name, func() {})
	if err != nil {
		return errors.Join(errBusy, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	c, err := e.clusters().Get(name)
	if err != nil {
		return err
	}
	if err := change(c); err != nil {
		return err
	}
	return e.clusters().Put(c)
}

// sendData sends the data of a member as it is now. An error once it is under way cuts it short, which the receiver sees.
func (e *Engine) sendData(ctx context.Context, w http.ResponseWriter, name string) error {
	i, err := e.Registry.Open(name)
	if err != nil {
		return err
	}
	begun := false
	err = e.withInstanceData(ctx, name, func(data image.InstanceData) error {
		size, err := sys.DiskUsage(data.Dir)
		if err != nil {
			return err
		}
		begun = true
		m := image.Image{
			Origin: "copy of " + name, Flavour: data.Server.Flavour, Version: data.Server.Version, PageSize: i.PageSize,
			Database: data.Database, Size: size, Created: data.Time,
		}
		return image.Send(ctx, &hurried{w: w, c: http.NewResponseController(w)}, m, data.Dir)
	})
	if err != nil && begun {
		panic(http.ErrAbortHandler)
	}
	return err
}

// hurried is an answer whose receiver may not stand still.
type hurried struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func (h *hurried) Write(p []byte) (int, error) {
	if err := h.c.SetWriteDeadline(time.Now().Add(sendPatience)); err != nil {
		return 0, err
	}
	return h.w.Write(p)
}

// sendPatience is how long a receiver of data may stand still: the donor's snapshot is in RAM meanwhile.
const sendPatience = 2 * time.Minute

// askMember asks another machine about its member.
func (e *Engine) askMember(ctx context.Context, c *cluster.Cluster, address string) (*farMember, error) {
	var m farMember
	if err := c.Ask(ctx, address, http.MethodGet, cluster.PathMember, nil, &m); err != nil {
		return nil, err
	}
	if m.Cluster == nil || m.Cluster.Name != c.Name {
		return nil, RequestError{errors.New("it is no member of cluster " + c.Name)}
	}
	m.MemberListing.URL, m.MemberListing.Quorum, m.MemberListing.Silent = m.URL, m.Quorum, m.Silent
	m.apart, m.cut, m.listed, m.primary, m.has, m.purged, m.version, m.far = m.Apart, m.Cut, m.Listed, m.Primary, m.Cluster.Has, m.Purged, m.Version, m.Cluster
	return &m, nil
}

// PhaseUnreached is that of a member on another machine that does not answer.
const PhaseUnreached instance.Phase = "unreached"

// listFar describes a member on another machine.
func (e *Engine) listFar(ctx context.Context, c *cluster.Cluster, n cluster.Node) MemberListing {
	m, err := e.askMember(ctx, c, n.DoorAddress())
	if err != nil {
		return MemberListing{Name: n.Name, Address: n.Address(), Phase: PhaseUnreached, Reason: oneLine(err)}
	}
	return m.MemberListing
}

// askOthers asks the other machines of a cluster who its members are, and takes over the latest that one says whose member is in
// it. left says that most of them know of a later list without this machine's member: whoever says so alone is not heard.
func (e *Engine) askOthers(ctx context.Context, name string) (left bool, err error) {
	c, n, err := e.clusterOf(name)
	if err != nil {
		return false, err
	}
	members, err := e.listMembers(ctx, c)
	if err != nil {
		return false, err
	}
	without, best := 0, c.Shared()
	for _, m := range members {
		switch {
		case m.far == nil || m.far.Revision <= best.Revision:
		case !slices.ContainsFunc(m.far.Nodes, c.Local):
			without++
		case m.Online:
			best = m.far
		}
	}
	if n.Joining || without >= c.Quorum() || best.Revision == c.Revision {
		return !n.Joining && without >= c.Quorum(), nil
	}
	return false, e.changeCluster(ctx, c.Name, func(c *cluster.Cluster) error {
		if best.Revision <= c.Revision {
			return nil
		}
		return c.Adopt(best)
	})
}
