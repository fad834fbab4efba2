package supervisor

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Options are what a supervisor needs besides its instance.
type Options struct {
	Log *slog.Logger
	// Argv is the command line that the supervisor of another instance is started by.
	Argv func(name string) []string
	// Keys is the directory of keys that all servers of the user share.
	Keys string
	// Archive is the directory of the archive of a durable instance, "" for one that is not, and Outside gives one on a disk
	// for snapshots that the volume has no room for.
	Archive string
	Outside func() (volume.Target, error)
	// Buckets get copies of the archive.
	Buckets []Bucket
	// Clusters are those of this user.
	Clusters cluster.Store
	// Door answers other machines that ask about a member of a cluster on several.
	Door func(name string) http.Handler
	// AskOthers asks these who the members are, and writes it down; left says that most of them say that this is none.
	AskOthers func(ctx context.Context, name string) (left bool, err error)
	// Spill is a directory on a disk for temporary files that do not fit in RAM.
	Spill string
	// End ends another instance at once, which goes.
	End func(ctx context.Context, i *instance.Instance) error
	// Store returns the instances of the volume that spec names, which is made if it does not exist.
	Store func(ctx context.Context, spec volume.Spec) (*instance.Store, error)
}
