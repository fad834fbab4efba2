package pool

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
)

// lease is a clone of a template with an account of its own.
type lease struct {
	Name     string
	Template string
	Login    dbconn.Login

	// pooled says that the name was chosen, so that the database may serve others after it.
	pooled bool

	// mu is held while the database is worked on, which it guards.
	mu       sync.Mutex
	database reset.Database

	// The rest is under leases.mu. A lease is ready once its database was made, spare while it is
	// for no test, held once a test has it, kept when it is to stay whatever happens, and gone when
	// it has ended.
	ready, spare, held, kept, gone bool
	ttl                            time.Duration
	expires                        time.Time
}

// never is when spare leases expire, and those that are kept.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// newLease is a lease that is not ready; a pooled one is spare.
func newLease(from, name string, pooled bool) *lease {
	return &lease{
		Name: name, Template: from, pooled: pooled, spare: pooled, expires: never,
		Login: dbconn.Login{User: leaseUser + random(userBytes), Password: dbconn.NewPassword()},
	}
}

// leases says who holds which clone.
//
// The invariant: a name belongs to one lease at a time, from before its account is made until its
// database is removed or has another account. Of spare, held and kept a lease is one at most; one that
// is held has a place in the queue, and whatever ends that (keep, cancel or end, with lease.mu locked)
// says so once.
type leases struct {
	endpoint dbconn.Endpoint

	mu     sync.Mutex
	byName map[string]*lease
}

// newLeases has no lease; endpoint is the server's.
func newLeases(endpoint dbconn.Endpoint) *leases {
	return &leases{endpoint: endpoint, byName: map[string]*lease{}}
}

// claim takes the name of a new lease, and reports whether it was free.
func (ls *leases) claim(l *lease) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.byName[l.Name] != nil {
		return false
	}
	ls.byName[l.Name] = l
	return true
}

// replace gives the name of a lease, whose account is gone, to the next.
func (ls *leases) replace(l, next *lease) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.byName[l.Name] = next
}

// taken reports whether a name belongs to a lease.
func (ls *leases) taken(name string) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.byName[name] != nil
}

// made says that the database of a lease is there.
func (ls *leases) made(l *lease) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.ready = true
}

// assign sets a spare lease aside for a request, which begins it or cancels it.
func (ls *leases) assign(l *lease) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.spare = false
}

// begin starts a test's hold on a lease, which lasts for ttl after its last use.
func (ls *leases) begin(l *lease, ttl time.Duration) Lease {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.held, l.ttl, l.expires = true, ttl, time.Now().Add(ttl)
	return ls.view(l)
}

// find returns the lease of that name that a test holds, or that is kept, locked, once no other
// request works on it, or nil.
func (ls *leases) find(name string) *lease {
	ls.mu.Lock()
	l := ls.byName[name]
	ls.mu.Unlock()
	if l == nil {
		return nil
	}
	l.mu.Lock()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !l.out() {
		l.mu.Unlock()
		return nil
	}
	return l
}

// out reports whether a client has a lease. The caller holds leases.mu.
func (l *lease) out() bool { return (l.held || l.kept) && !l.gone }

// renew begins the time to live of a lease again.
func (ls *leases) renew(l *lease) Lease {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !l.kept {
		l.expires = time.Now().Add(l.ttl)
	}
	return ls.view(l)
}

// keep makes a lease stay until it is dropped, and reports whether it was held, so that its place is
// free.
func (ls *leases) keep(l *lease) (_ Lease, held bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	held, l.held = l.held, false
	l.kept, l.expires = true, never
	return ls.view(l), held
}

// isKept reports whether a lease is kept.
func (ls *leases) isKept(l *lease) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return l.kept
}

// cancel makes a lease spare again that its request cannot have, and reports whether it did, so
// that its place is free: another request may have ended it or kept it.
func (ls *leases) cancel(l *lease) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.gone || l.kept {
		return false
	}
	l.held, l.spare, l.expires = false, true, never
	return true
}

// free makes a lease spare that no test holds.
func (ls *leases) free(l *lease) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.ready, l.spare = true, true
}

// retry lets expired remove once more a lease that is spare or was never made. Any other stays
// until its time runs out.
func (ls *leases) retry(l *lease) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.spare || !l.ready {
		l.ready, l.spare, l.expires = true, true, time.Time{}
	}
}

// end ends a lease, and reports whether it was held, so that its place is free. Its name is free
// too, unless another lease has it.
func (ls *leases) end(l *lease) (held bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	held, l.held = l.held, false
	l.gone = true
	if ls.byName[l.Name] == l {
		delete(ls.byName, l.Name)
	}
	return held
}

// isSpare reports whether a lease is for no test.
func (ls *leases) isSpare(l *lease) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return l.spare
}

// expired returns the leases whose time has run out.
func (ls *leases) expired(now time.Time) (list []*lease) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.byName {
		if l.ready && now.After(l.expires) {
			list = append(list, l)
		}
	}
	return list
}

// isExpired reports whether the time of a lease has run out that has not ended yet.
func (ls *leases) isExpired(l *lease, now time.Time) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return !l.gone && now.After(l.expires)
}

// spares reports whether any lease is spare.
func (ls *leases) spares() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.byName {
		if l.spare {
			return true
		}
	}
	return false
}

// count is how many clones of a template are not spare.
func (ls *leases) count(template string) (n int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.byName {
		if l.Template == template && !l.spare {
			n++
		}
	}
	return n
}

// one is the name of a clone of a template that is not spare, "" if all are.
func (ls *leases) one(template string) string {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.byName {
		if l.Template == template && !l.spare {
			return l.Name
		}
	}
	return ""
}

// inUse reports whether a test has a clone of a template, or is about to. Those that are kept are
// out of the pool.
func (ls *leases) inUse(template string) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.byName {
		if l.Template == template && !l.spare && !l.kept {
			return true
		}
	}
	return false
}

// list returns the leases that clients have, by name.
func (ls *leases) list() []Lease {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	list := make([]Lease, 0, len(ls.byName))
	for _, l := range ls.byName {
		if l.out() {
			list = append(list, ls.view(l))
		}
	}
	slices.SortFunc(list, func(a, b Lease) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// view is what callers get to know of a lease. The caller holds leases.mu.
func (ls *leases) view(l *lease) Lease {
	e := ls.endpoint
	e.Login, e.Database = l.Login, l.Name
	out := Lease{Name: l.Name, Template: l.Template, Endpoint: e, Expires: l.expires, Kept: l.kept}
	if l.kept {
		out.Expires = time.Time{}
	}
	return out
}

// records are the leases as the file has them, by name.
func (ls *leases) records() []leaseRecord {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	list := make([]leaseRecord, 0, len(ls.byName))
	for _, l := range ls.byName {
		expires := l.expires
		if l.spare || !l.ready {
			expires = time.Time{}
		}
		list = append(list, leaseRecord{l.Name, l.Template, l.Login, l.ttl.Seconds(), expires, l.pooled, l.kept})
	}
	slices.SortFunc(list, func(a, b leaseRecord) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// load takes over a lease of the last run, and reports whether a test holds it.
func (ls *leases) load(r leaseRecord) (held bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := &lease{
		Name: r.Name, Template: r.Template, Login: r.Login, pooled: r.Pooled, ready: true, spare: r.Expires.IsZero(), kept: r.Kept,
		ttl: time.Duration(r.TTLSeconds * float64(time.Second)), expires: r.Expires,
	}
	if l.held = !l.kept && !l.spare; l.held {
		// When it was last used is written down when the run ends; that one may not have ended so.
		l.expires = later(l.expires, time.Now().Add(l.ttl))
	}
	ls.byName[l.Name] = l
	return l.held
}

// disown leaves the clones of a template to the next run, which removes them if they are there, and
// forgets them if not.
func (ls *leases) disown(template string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.byName {
		if l.Template == template {
			l.spare, l.held, l.kept = true, false, false
		}
	}
}

// again takes in the clones that data of another time has, where they have ended since: those that are kept
// are there again, others are left to the next run. It returns the accounts of those whose names have gone
// to other leases that clients have.
func (ls *leases) again(clones []leaseRecord) (ended []dbconn.Login) {
	for _, r := range clones {
		ls.mu.Lock()
		now := ls.byName[r.Name]
		same := now != nil && now.Login.User == r.Login.User
		out := now != nil && now.out()
		ls.mu.Unlock()
		switch {
		case same:
		case out:
			ended = append(ended, r.Login)
		default: // a spare clone that has the name is not in that data
			if !r.Kept {
				r.Expires = time.Time{}
			}
			ls.load(r)
		}
	}
	return ended
}

// inherit leaves all clones but those that are kept to the next run, and reports whether there are any.
func (ls *leases) inherit() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.byName {
		l.spare, l.held = !l.kept, false
	}
	return len(ls.byName) > 0
}

// logins are the accounts of all leases by database, apart from the others those that are kept.
func (ls *leases) logins() (left, kept map[string]dbconn.Login) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	left, kept = map[string]dbconn.Login{}, map[string]dbconn.Login{}
	for name, l := range ls.byName {
		if l.kept {
			kept[name] = l.Login
		} else {
			left[name] = l.Login
		}
	}
	return left, kept
}
