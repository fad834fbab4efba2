package cli

import (
	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/fit"
)

// fitFlags say what of dumps is mapped, wherever dumps are loaded.
type fitFlags struct{ fit.Options }

func (o *fitFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Collations, "collations", "", "what to take for collations of a dump that the server does not know: auto, which is those that come nearest, or `NAME=OTHER,...`")
	f.StringVar(&o.Definers, "definers", fit.Keep, "definers of the views, routines, triggers and events of a dump, `keep|mine`: mine has them be the application's account")
	f.StringVar(&o.Accounts, "accounts", fit.Keep, "accounts and rights in a dump, `keep|skip`: skip leaves them out, and the database mysql")
	f.BoolVar(&o.Fix, "fix", false, "leave out of a dump what the server refuses though it says nothing, such as values for generated columns; each is told")
	_ = cmd.RegisterFlagCompletionFunc("collations", cobra.FixedCompletions([]string{fit.Auto}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("definers", cobra.FixedCompletions([]string{fit.Keep, fit.Mine}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("accounts", cobra.FixedCompletions([]string{fit.Keep, fit.Skip}, cobra.ShellCompDirectiveNoFileComp))
}

// options returns what was asked for, checked; what is as without a flag is empty.
func (o *fitFlags) options() (fit.Options, error) {
	q := o.Options
	if q.Definers == fit.Keep {
		q.Definers = ""
	}
	if q.Accounts == fit.Keep {
		q.Accounts = ""
	}
	if err := q.Check(); err != nil {
		return q, usageError{err}
	}
	return q, nil
}
