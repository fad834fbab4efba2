package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/exporter"
)

// defaultExporter is where the exporter listens: on this machine only.
const defaultExporter = "127.0.0.1:9847"

type exporterOptions struct {
	listen, textfile string
	every            time.Duration
}

func newExporter(a *app) *cobra.Command {
	var o exporterOptions
	cmd := &cobra.Command{
		Use:   "exporter",
		Short: "Show the metrics of all instances to Prometheus",
		Long: `Show the metrics of all instances to Prometheus, at http://` + defaultExporter + `/metrics, or in a file for the
textfile collector of node_exporter. No password is among them.

  ramaria exporter
  ramaria exporter --textfile /var/lib/prometheus/node-exporter/ramaria.prom --every 15s`,
		Args: maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runExporter(cmd.Context(), a, o) },
	}
	cmd.Flags().StringVar(&o.listen, "listen", defaultExporter, "listen at `HOST:PORT`")
	cmd.Flags().StringVar(&o.textfile, "textfile", "", "write `FILE` once, and listen nowhere")
	cmd.Flags().DurationVar(&o.every, "every", 0, "write the file again each `TIME`, as in 15s")
	cmd.MarkFlagsMutuallyExclusive("listen", "textfile")
	return cmd
}

func runExporter(ctx context.Context, a *app, o exporterOptions) error {
	e := &exporter.Exporter{List: a.exported, Version: version, Commit: commit}
	defer e.Close()
	switch {
	case o.every != 0 && o.textfile == "":
		return usageError{errors.New("use --every: it is for --textfile; Prometheus says itself how often it asks\nhint: ramaria exporter --help")}
	case o.every != 0 && o.every < time.Second:
		return usageError{fmt.Errorf("use --every %s: the least is a second\nhint: --every 15s", o.every)}
	case o.textfile != "":
		return a.writeTextfile(ctx, e, o)
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return usageError{fmt.Errorf("use --listen %s: %w\nhint: --listen %s", sayable(o.listen), err, defaultExporter)}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w\nhint: another exporter may be there; or ramaria exporter --listen 127.0.0.1:0 takes any free port", err)
	}
	if err != nil {
		return fmt.Errorf("%w\nhint: --listen %s", err, defaultExporter)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		a.say("warning: others on the network can read the metrics, as there is no password\nhint: --listen %s, or a firewall", defaultExporter)
	}
	a.say("listening on http://%s/metrics", l.Addr())
	return e.Serve(ctx, l)
}

func (a *app) writeTextfile(ctx context.Context, e *exporter.Exporter, o exporterOptions) error {
	if ext := filepath.Ext(o.textfile); ext != ".prom" {
		a.say("warning: node_exporter reads files that end in .prom only")
	}
	if o.every == 0 {
		return e.WriteFile(ctx, o.textfile)
	}
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	said := ""
	for first := true; ; first = false {
		err := e.WriteFile(ctx, o.textfile)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err == nil:
			said = ""
		case err.Error() != said: // a disk that is full has room again one day
			said = err.Error()
			a.say("warning: %v", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// exported are the instances that there are now.
func (a *app) exported() ([]exporter.Target, error) {
	records, err := a.engine.Registry.List()
	if err != nil {
		return nil, err
	}
	all := make([]exporter.Target, 0, len(records))
	for _, r := range records {
		st, err := r.State()
		if err != nil {
			st.Phase = "" // it is down, in no phase, and the others are told
		}
		t := exporter.Target{Name: r.Name, Phase: string(st.Phase)}
		if st.Phase.Alive() {
			t.Socket = r.APISocket()
		}
		all = append(all, t)
	}
	return all, nil
}
