package cli

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/room"
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

func runLs(_ context.Context, a *app, asJSON bool) error {
	all, err := a.engine.ListInstances()
	if err != nil {
		return err
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
		t.row(l.Name, phase, l.Server, volumeWords(l), volume.FormatBytes(l.Size), port, l.Database, l.Origin)
	}
	t.print(a.stdout)
	said := map[string]bool{} // what is wrong with a volume, all its instances say
	for _, l := range all {
		for _, w := range l.Warnings {
			a.sayOnce(said, "warning: "+w)
		}
		for _, n := range l.Notices {
			a.sayOnce(said, "notice: "+n)
		}
	}
	if i := slices.IndexFunc(all, nearlyFull); i >= 0 {
		a.say("hint: ramaria status %s says what grows", all[i].Name)
	}
	return nil
}

func (a *app) sayOnce(said map[string]bool, text string) {
	if !said[text] {
		said[text] = true
		a.say("%s", text)
	}
}

// nearlyFull reports whether there is anything to say of the room in an instance's volume.
func nearlyFull(l engine.InstanceListing) bool {
	return l.Room != nil && l.Room.Level != room.Ample.String()
}

// volumeWords are the kind of an instance's volume, and how full that is when it is nearly.
func volumeWords(l engine.InstanceListing) string {
	if !nearlyFull(l) {
		return l.Volume
	}
	return fmt.Sprintf("%s (%d %%)", l.Volume, l.Room.UsedPercent)
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
			return runStatus(a, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	return a.optional(cmd)
}

func runStatus(a *app, name string, asJSON bool) error {
	l, err := a.engine.Status(name)
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

func (a *app) printStatus(l engine.InstanceListing) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.stdout, "%-10s %s\n", name, progress.Plain(fmt.Sprintf(format, args...)))
	}
	line("name", "%s", l.Name)
	line("state", "%s", phaseWords(l.Phase, l.Since))
	if l.Moved != "" {
		line("moved", "%s", indent(l.Moved, 11))
	}
	if l.Reason != "" {
		line("reason", "%s", indent(l.Reason, 11))
	}
	for _, w := range l.Warnings {
		line("warning", "%s", indent(w, 11))
	}
	for _, n := range l.Notices {
		line("notice", "%s", indent(n, 11))
	}
	if l.Server != "" {
		line("server", "%s", l.Server)
		from := l.Origin
		if l.Image != "" {
			from += " (image " + l.Image + ")"
		}
		line("made from", "%s", from)
		line("volume", "%s, %s in %s", l.Volume, volume.FormatBytes(l.Size), l.Dir)
		if l.Room != nil {
			printRoom(line, *l.Room)
		}
		if l.Confined {
			line("confined", "by Landlock: the server reaches its own files only")
		} else if l.Unconfined != "" {
			line("confined", "no: %s", l.Unconfined)
		}
		if d := l.Doublewrite; d.Value != "" {
			line("dblwrite", "%s: %s", d.Value, d.Why)
		}
		if t := l.TmpDir; t.Kind != "" {
			line("tmpdir", "%s", tmpWords(t))
		}
		line("database", "%s", l.Database)
		line("user", "%s", l.User)
		if l.Log == instance.LogOff {
			line("log", "off: no templates, clones or resets")
		}
	}
	if l.Durable != nil {
		printDurable(line, *l.Durable)
	}
	if m := l.Cluster; m != nil {
		line("cluster", "%s", membershipWords(*m))
	}
	printReplicas(line, l)
	printHandOver(line, l.HandOver)
	if len(l.Marks) > 0 {
		labels := make([]string, len(l.Marks))
		for i, m := range l.Marks {
			labels[i] = m.Label
		}
		line("marks", "%s", strings.Join(labels, ", "))
	}
	if l.StandsInFor != "" {
		line("service", "%s, in the place of %s", l.Service, l.StandsInFor)
	} else if l.Service != "" {
		line("service", "%s", l.Service)
	}
	if l.Phase.Alive() {
		line("tcp", "%s", net.JoinHostPort(l.Host, strconv.Itoa(l.Port)))
		line("socket", "%s", l.Socket)
		if l.Front != 0 {
			line("front door", "%s, for databases named TEMPLATE@NAME", net.JoinHostPort(l.Host, strconv.Itoa(l.Front)))
		}
		line("api", "%s", l.API)
		if l.RemoteAPI != "" {
			line("remote api", "%s", l.RemoteAPI)
		}
		line("processes", "server %d, supervisor %d", l.ServerPID, l.SupervisorPID)
	}
	if hint := a.statusHint(l); hint != "" {
		a.say("hint: %s", hint)
	}
}

// printRoom prints how full the volume is, and what fills it.
func printRoom(line func(name, format string, args ...any), r client.Room) {
	left := volume.FormatBytes(max(0, r.FreeBytes-r.KeptBytes)) + " left"
	if r.KeptBytes > 0 && r.Level != room.Ample.String() {
		left += " until its servers become read-only"
	}
	line("room", "%d %% of the volume used, %s", r.UsedPercent, left)
	if r.Cgroup != nil {
		line("", "bound by %s", volume.LimitOf(r.Cgroup.Path, r.Cgroup.LimitBytes))
	}
	if r.GrowthBytesPerHour > 0 {
		text := "+" + volume.FormatBytes(r.GrowthBytesPerHour) + " an hour"
		if r.FullSeconds != nil {
			text += ": full in " + room.Say(seconds(*r.FullSeconds)) + " at this rate"
		}
		line("growth", "%s", text)
	}
	if r.Swap != nil {
		printSwap(line, *r.Swap)
	}
	if c := r.Contents; c != nil {
		printUses(line, *c, r.Level != room.Ample.String())
	}
}

// withMany are what has grown, and before it a database of which many tables have grown a little.
func withMany(c client.Contents) []client.Use {
	if len(c.Databases) == 0 {
		return c.Grown
	}
	d, told := c.Databases[0], int64(0)
	for _, u := range c.Grown {
		if u.Database == d.Database {
			told += u.GrownBytes
		}
	}
	if told > d.GrownBytes/2 {
		return c.Grown
	}
	return append([]client.Use{d}, c.Grown...)
}

// printSwap prints what is swapped out, if anything of the instance can be.
func printSwap(line func(name, format string, args ...any), s client.Swap) {
	var parts []string
	switch {
	case s.FilesBytes == nil:
		parts = append(parts, "not known of its data: that takes Linux 6.5")
	case *s.FilesBytes > 0:
		parts = append(parts, volume.FormatBytes(*s.FilesBytes)+" of "+volume.FormatBytes(s.OfBytes)+" of its data")
	}
	if s.ServerBytes > 0 {
		parts = append(parts, volume.FormatBytes(s.ServerBytes)+" of the server's memory")
	}
	if len(parts) > 0 {
		line("swapped", "%s; %s on the machine", strings.Join(parts, ", "), volume.FormatBytes(s.MachineBytes))
	}
}

// mostUses is how many lines each list of a status has.
const mostUses = 3

// printUses prints what has grown, and where that explains nothing, what is largest.
func printUses(line func(name, format string, args ...any), c client.Contents, full bool) {
	name, list := "grown", withMany(c)
	if len(list) == 0 && full {
		name, list = "largest", c.Largest
	}
	list = list[:min(mostUses, len(list))]
	what, wide := make([]string, len(list)), 0
	for i, u := range list {
		what[i] = strings.ReplaceAll(progress.Plain(u.What), "\n", `\n`)
		wide = max(wide, utf8.RuneCountInString(what[i]))
	}
	for i, u := range list {
		text := what[i] + strings.Repeat(" ", wide-utf8.RuneCountInString(what[i]))
		switch {
		case name == "largest":
			text += fmt.Sprintf("  %7s", volume.FormatBytes(u.Bytes))
		case i == 0:
			text += fmt.Sprintf("  %8s to %s, since %s", "+"+volume.FormatBytes(u.GrownBytes), volume.FormatBytes(u.Bytes), c.Since.Local().Format("15:04"))
		default:
			text += fmt.Sprintf("  %8s to %s", "+"+volume.FormatBytes(u.GrownBytes), volume.FormatBytes(u.Bytes))
		}
		if i > 0 {
			line("", "%s", text)
		} else {
			line(name, "%s", text)
		}
	}
}

// printDurable prints what a durable instance promises.
func printDurable(line func(name, format string, args ...any), d client.Durable) {
	promise := "no acknowledged commit is lost"
	if d.Level != instance.DurableCommit {
		promise = "at most " + instance.FormatTimeText(d.Level) + " of commits are lost"
	}
	if d.BlindSince != nil {
		line("durable", "not since %s: a power cut may take commits since then, see the warning", d.BlindSince.Local().Format(time.DateTime))
	} else {
		line("durable", "yes: %s", promise)
	}
	if d.Error != "" {
		line("archive", "%s: it cannot be used", d.Archive)
		printBuckets(line, d)
		return
	}
	line("archive", "%s, %s free; base backups: %d, the last one %s", d.Archive, volume.FormatBytes(d.RoomBytes), d.Backups, progress.Ago(d.LastBackup))
	line("recovery", "about %s now, with %s of log since then (--recover-within %s)", short(seconds(d.RecoverSeconds)), volume.FormatBytes(d.SinceBytes), instance.FormatTime(seconds(d.RecoverWithinSeconds)))
	verified := "never"
	if d.Verified != nil {
		verified = progress.Ago(*d.Verified)
	}
	line("verified", "%s", verified)
	printFences(line, d.Fences)
	printBuckets(line, d)
	if len(d.Outside) > 0 {
		line("outside", "of the promise: %s", strings.Join(d.Outside, ", "))
	}
}

// printFences prints which statements wait for a base backup, and how many did.
func printFences(line func(name, format string, args ...any), f *client.Fences) {
	if f == nil {
		return
	}
	var total int64
	kinds := make([]string, 0, len(f.Kinds))
	for _, k := range f.Kinds {
		total += k.Count
		kinds = append(kinds, fmt.Sprintf("%s %d", k.Kind, k.Count))
	}
	line("fences", "%d so far: statements that waited for a base backup (%s)", total, strings.Join(kinds, ", "))
	for _, w := range f.Waiting {
		line("", "waits since %s: %s", progress.Ago(w.Since), w.Why)
	}
}

func printBuckets(line func(name, format string, args ...any), d client.Durable) {
	for _, b := range d.Buckets {
		line("bucket", "%s: %s", b.URL, bucketWords(b))
	}
}

// bucketWords say how a bucket stands.
func bucketWords(b client.Bucket) string {
	behind := ""
	if b.LagSeconds > 0 {
		behind = short(seconds(b.LagSeconds)) + " behind"
	}
	switch {
	case b.Error != "" && behind != "":
		cause, _, _ := strings.Cut(b.Error, "\nhint: ")
		return behind + ": " + strings.ReplaceAll(cause, "\n", "; ")
	case b.Error != "":
		cause, _, _ := strings.Cut(b.Error, "\nhint: ")
		return "cannot be used: " + strings.ReplaceAll(cause, "\n", "; ")
	case b.InSync:
		return "has all of it"
	case b.Complete == nil && behind != "":
		return "cannot be restored from yet; the first base backup is going up"
	case behind != "":
		return behind
	case b.Complete != nil:
		return "less than a second behind"
	}
	return "not known how far behind"
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// phaseWords say what an instance is, and since when if that is known.
func phaseWords(phase instance.Phase, since time.Time) string {
	if since.IsZero() {
		return string(phase)
	}
	return string(phase) + " since " + since.Local().Format(timeFormat)
}

// statusHint is the next command for an instance that does not run.
func (a *app) statusHint(l engine.InstanceListing) string {
	if l.Durable != nil && l.Durable.Error != "" {
		return "" // a warning says it
	}
	if l.MemberOf != "" && l.Phase != instance.Running && l.Phase != instance.Starting && l.Phase != instance.Stopping {
		return fmt.Sprintf("ramaria cluster up %s has it join again, as a copy if its data is lost", l.MemberOf)
	}
	switch l.Phase {
	case instance.Crashed:
		if l.Durable != nil {
			return fmt.Sprintf("ramaria up %s recovers it; ramaria logs %s has the log; ramaria restore %s --as NEW starts another instance with all that its archive has", l.Name, l.Name, l.Name)
		}
		return fmt.Sprintf("ramaria up %s recovers it; ramaria up %s --fresh starts again from the clean image; ramaria logs %s has the log", l.Name, l.Name, l.Name)
	case instance.Gone:
		if l.Durable != nil {
			return fmt.Sprintf("ramaria up %s recovers it from its archive", l.Name)
		}
		return fmt.Sprintf("ramaria up %s makes it again; ramaria down %s --rm forgets it", l.Name, l.Name)
	case instance.Stopped:
		return fmt.Sprintf("ramaria up %s starts it", l.Name)
	case instance.Starting, instance.Running, instance.Stopping:
	}
	return ""
}

// tmpWords says what temporary files lie in, and why.
func tmpWords(t instance.TmpDirState) string {
	words := t.Kind
	if t.Limit > 0 {
		words += fmt.Sprintf(", %s of %s in RAM", volume.FormatBytes(t.RAM), volume.FormatBytes(t.Limit))
	}
	if t.Disk > 0 {
		words += fmt.Sprintf(" and %s on disk", volume.FormatBytes(t.Disk))
	}
	return words + ": " + t.Why
}
