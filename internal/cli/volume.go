package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newVolume(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "volume",
		Short: "List, grow and remove volumes: the areas, normally in RAM, where data lives",
		Long: `List, grow and remove volumes: the areas, normally in RAM, where data lives. There is at most
one of each kind; the first command that needs one makes it (--volume KIND, or auto, which
chooses).

Volumes stay, with their images, until they are removed or the machine reboots, so that the
next instance starts at once.`,
	}
	onlyOthers(cmd)
	cmd.AddCommand(newVolumeLs(a), newVolumeGrow(a), newVolumeRm(a))
	return cmd
}

func newVolumeLs(a *app) *cobra.Command {
	var asJSON, allHomes bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the volumes",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if allHomes {
				return runVolumeLsAll(a, asJSON)
			}
			return runVolumeLs(cmd.Context(), a, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	cmd.Flags().BoolVar(&allHomes, "all-homes", false, "volumes in memory of all your homes, also of homes that were removed")
	return cmd
}

// volumeListing is what `volume ls` says of one volume; see docs/json.md.
type volumeListing struct {
	Kind      volume.Kind  `json:"kind"`
	Dir       string       `json:"dir"`
	Size      int64        `json:"size"`
	Used      int64        `json:"used"`
	Free      int64        `json:"free"`
	Bound     volume.Bound `json:"bound,omitempty"`
	Memory    int64        `json:"memory"`
	Instances []string     `json:"instances"`
	Images    []string     `json:"images"`
	// Error is why nothing else can be told.
	Error string `json:"error,omitempty"`
}

func runVolumeLs(ctx context.Context, a *app, asJSON bool) error {
	all := []volumeListing{}
	for _, kind := range a.engine.KindsThere() {
		all = append(all, a.listVolume(ctx, kind))
	}
	if asJSON {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		a.say("no volumes; ramaria up makes one")
		return nil
	}
	t := newTable("KIND", "SIZE", "USED", "FREE", "RAM", "INSTANCES", "IMAGES", "DIRECTORY")
	for _, l := range all {
		if l.Error != "" {
			t.row(string(l.Kind), "?", "?", "?", "?", "?", "?", l.Dir)
			continue
		}
		t.row(string(l.Kind), volume.FormatBytes(l.Size), volume.FormatBytes(l.Used), volume.FormatBytes(l.Free), volume.FormatBytes(l.Memory),
			strconv.Itoa(len(l.Instances)), strconv.Itoa(len(l.Images)), l.Dir)
	}
	t.print(a.stdout)
	for _, l := range all {
		if l.Error != "" {
			a.say("warning: %s", l.Error)
		}
	}
	return nil
}

// listVolume looks at one volume. One that has failed is listed with the reason.
func (a *app) listVolume(ctx context.Context, kind volume.Kind) volumeListing {
	l := volumeListing{Kind: kind, Dir: a.engine.Opener().At(kind).Dir(), Instances: []string{}, Images: []string{}}
	err := func() error {
		v, err := a.engine.Opener().Open(ctx, volume.Spec{Kind: kind})
		if err != nil {
			return err
		}
		u, err := v.Usage()
		if err != nil {
			return err
		}
		l.Size, l.Used, l.Free, l.Bound, l.Memory = u.Size, u.Used, u.Free, u.Bound, u.Memory
		entries, err := os.ReadDir(filepath.Join(v.Dir(), "instances"))
		if err != nil {
			return err
		}
		for _, e := range entries {
			l.Instances = append(l.Instances, e.Name())
		}
		s, err := a.engine.Images(v)
		if err != nil {
			return err
		}
		images, err := s.List()
		for _, m := range images {
			l.Images = append(l.Images, m.ID)
		}
		return err
	}()
	if err != nil {
		l.Error = err.Error()
	}
	return l
}

func newVolumeGrow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "grow KIND SIZE",
		Short:   "Raise the limit of a mounted volume while instances run in it",
		Example: `  ramaria volume grow xfs 8G`,
		Args:    exactArgs(2, "a kind and a size"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVolumeGrow(cmd.Context(), a, args[0], args[1])
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeKinds(cmd, args, word)
		},
	}
}

func runVolumeGrow(ctx context.Context, a *app, kind, size string) error {
	spec, err := volume.ParseSpec(kind + ":" + size)
	if err != nil {
		return usageError{err}
	}
	if spec.Kind == volume.Shm || spec.Kind == volume.Disk {
		return usageError{fmt.Errorf("grow volume %s: it has no limit of its own\nhint: its size is that of the file system at %s", kind, a.engine.Opener().At(spec.Kind).Dir())}
	}
	o := a.engine.Opener()
	there, err := o.There(spec.Kind)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("grow volume %s: %w\nhint: ramaria volume ls", kind, engine.ErrNoVolume)
	}
	old, err := o.At(spec.Kind).Usage()
	if err != nil {
		return err
	}
	if spec.Size < old.Size {
		return usageError{fmt.Errorf("grow volume %s: it has %s already, and cannot shrink\nhint: ramaria volume rm %s, then --volume %s", kind, volume.FormatBytes(old.Size), kind, spec)}
	}
	v, err := o.Open(ctx, spec)
	if err != nil {
		return err
	}
	u, err := v.Usage()
	if err != nil {
		return err
	}
	a.say("volume %s: %s, %s free", kind, volume.FormatBytes(u.Size), volume.FormatBytes(u.Free))
	return nil
}
