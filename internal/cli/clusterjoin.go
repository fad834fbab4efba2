package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/server"
)

func newClusterInvite(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "invite NAME FILE",
		Short: "Write what another machine needs to join a cluster",
		Long: `Write what another machine needs to join a cluster that was made with --address to a new file: a
secret, by which whoever has it reads and writes all of the cluster. Copy it there by a safe way,
as scp, and remove it afterwards.`,
		Example: `  ramaria cluster create shop --address 10.0.0.1
  ramaria cluster invite shop shop.invitation`,
		Args: exactArgs(2, "the name of a cluster, and a new file"),
		RunE: func(_ *cobra.Command, args []string) error {
			invitation, door, err := a.engine.InviteToCluster(args[0])
			if err != nil {
				return err
			}
			text, err := json.MarshalIndent(invitation, "", "  ")
			if err == nil {
				err = writeNewSecret(args[1], append(text, '\n'))
			}
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("write invitation: %w\nhint: name a file that is not there yet", err)
			}
			if err != nil {
				return fmt.Errorf("write invitation: %w", err)
			}
			a.say("wrote %s, a secret: copy it to the other machine, and type there", args[1])
			fmt.Fprintf(a.stdout, "ramaria cluster join %s --invitation %s\n", door, args[1])
			return nil
		},
		ValidArgsFunction: a.completeClusters,
	}
}

// writeNewSecret writes a file that is not there yet, readable by its owner alone.
func writeNewSecret(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func newClusterJoin(a *app) *cobra.Command {
	var q engine.JoinRequest
	var file string
	cmd := &cobra.Command{
		Use:   "join ADDRESS[:PORT]",
		Short: "Make a member on this machine of a cluster that another machine has",
		Long: `Make a member on this machine of a cluster that another machine has, as a copy of its data. The
other machine has made the cluster with ramaria cluster create --address, and the invitation with
ramaria cluster invite, which prints the whole command.

All members are to be reached while one joins. Each machine then starts its own: see
docs/clusters.md. The port is 4569 unless it is said.`,
		Example: `  ramaria cluster join 10.0.0.1:4569 --invitation shop.invitation`,
		Args:    exactArgs(1, "the address of a member of the cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Address = args[0]
			if file == "" {
				return usageError{fmt.Errorf("join a cluster without --invitation\nhint: ramaria cluster invite NAME FILE at the other machine writes it")}
			}
			var err error
			if q.Invitation, err = readInvitation(file); err != nil {
				return err
			}
			if fi, err := os.Stat(file); err == nil && fi.Mode().Perm()&0o077 != 0 {
				a.say("warning: others can read %s, which is a secret\nhint: rm %[1]s once all machines have joined", server.ShellWord(file))
			}
			if _, err := a.engine.JoinCluster(cmd.Context(), q); err != nil {
				return err
			}
			l, err := a.engine.ClusterStatus(cmd.Context(), q.Invitation.Name)
			if err != nil {
				return err
			}
			return printMembers(a, l)
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "invitation", "", "the `FILE` that ramaria cluster invite wrote")
	f.StringVar(&q.Here, "address", "", "the `ADDRESS` at which the other machines reach this one (default: that from which this one reaches ADDRESS)")
	f.StringVar(&q.Server, "server", "", "the software, as for ramaria up (default: that of the cluster)")
	f.StringVar(&q.Volume, "volume", "", "what the data is to lie in: `KIND`, as for ramaria up")
	return cmd
}

func readInvitation(path string) (v cluster.Invitation, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return v, fmt.Errorf("read invitation: %w", err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, usageError{fmt.Errorf("read invitation %s: %w\nhint: ramaria cluster invite at the other machine writes one", path, err)}
	}
	if v.Format != cluster.Format || v.Name == "" || v.Cert == "" || v.Key == "" {
		return v, usageError{fmt.Errorf("read invitation %s: it is none that this ramaria knows\nhint: use the ramaria that wrote it; ramaria cluster invite at the other machine writes one", path)}
	}
	return v, nil
}
