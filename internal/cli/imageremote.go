package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newImagePush(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "push ID [s3://BUCKET/PREFIX]",
		Short: "Copy an image to a bucket, for other machines, and print its URL",
		Long: `Copy an image to an S3 bucket, for other machines, and print its URL: what image pull and
--from take there. Without a place, it goes to that of RAMARIA_IMAGES. ID may be the
beginning of an id. An image that is not saved yet is saved first. A push that is cut off
goes on where it was.

Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or ~/.aws/credentials. A
service other than AWS is s3://BUCKET/PREFIX?endpoint=https://HOST.`,
		Example: `  ramaria image push "$(ramaria image build --from shop.sql)" s3://ci/images`,
		Args:    oneOrTwoArgs("the id of an image, or its beginning"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImagePush(cmd.Context(), a, args[0], strings.Join(args[1:], ""))
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeImages(cmd, args, word)
		},
	}
}

func runImagePush(ctx context.Context, a *app, prefix, place string) error {
	if place = cmp.Or(place, os.Getenv(engine.EnvImages)); place == "" {
		return usageError{errors.New("push image: there is no place\nhint: ramaria image push " + sayable(prefix) + " s3://BUCKET/PREFIX, or set " + engine.EnvImages)}
	}
	url, err := a.engine.PushImage(ctx, prefix, place)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, url)
	return nil
}

func newImagePull(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "pull s3://BUCKET/PREFIX/ID",
		Short: "Copy an image from a bucket to disk, and print its id",
		Long: `Copy an image from an S3 bucket to disk, as image save does with one of this machine, and
print its id. up --from s3://BUCKET/PREFIX/ID does the same by itself.

Each piece of the file is checked against its SHA-256. A pull that is cut off goes on
where it was.`,
		Example: `  ramaria up --from "$(ramaria image pull s3://ci/images/0123456789abcdef)"`,
		Args:    exactArgs(1, "the URL of an image, as ramaria image push prints it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImagePull(cmd.Context(), a, args[0])
		},
	}
}

func runImagePull(ctx context.Context, a *app, url string) error {
	id, err := a.engine.PullImage(ctx, url)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, id)
	return nil
}

func runImageLsRemote(ctx context.Context, a *app, place string, asJSON bool) error {
	all, err := a.engine.RemoteImages(ctx, place)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		a.say("no images in %s; ramaria image push ID %[1]s copies one there", place)
		return nil
	}
	t := newTable("IMAGE", "SERVER", "SIZE", "SAVED", "BUILT", "MADE FROM")
	for _, m := range all {
		t.row(m.ID, fmt.Sprintf("%s-%s", m.Flavour, m.Version), volume.FormatBytes(m.Size), volume.FormatBytes(m.SavedSize), progress.Ago(m.Created), m.Origin)
	}
	t.print(a.stdout)
	return nil
}
