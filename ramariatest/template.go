package ramariatest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/client"
)

// buildTimeout is for how long a template may take to be filled, and so how long others
// wait for it; dropTimeout for how long it may take to tell them that it failed.
const (
	buildTimeout = 10 * time.Minute
	dropTimeout  = 10 * time.Second
)

// ensureTemplate makes the template that o asks for, if it is not there, and returns its
// full name.
func ensureTemplate(ctx context.Context, api *client.Client, o options) (string, error) {
	switch {
	case len(o.source.dumps) > 0:
		return loadTemplate(ctx, api, o)
	case o.source.fill != nil:
		return buildTemplate(ctx, api, o)
	}
	return o.template, nil
}

// loadTemplate loads dumps by the ramaria program, which knows their format and compares their
// content.
func loadTemplate(ctx context.Context, api *client.Client, o options) (string, error) {
	args := []string{"template", "add", o.template, "--json"}
	for _, path := range o.source.dumps {
		args = append(args, "--from", path)
	}
	out, err := ramaria(ctx, []string{client.EnvVar + "=" + api.Socket()}, args...)
	if err != nil {
		return "", err
	}
	var t client.Template
	if err := json.Unmarshal([]byte(out), &t); err != nil || t.Name == "" {
		return "", fmt.Errorf("load template %s: ramaria answered %q: %w", o.template, out, err)
	}
	return t.Name, nil
}

// buildTemplate builds the template by the caller's function, unless it exists or
// another process has built it meanwhile.
func buildTemplate(ctx context.Context, api *client.Client, o options) (_ string, err error) {
	claim, err := api.CreateTemplate(ctx, client.TemplateRequest{
		Name: o.template, Key: o.source.key, WaitSeconds: buildTimeout.Seconds(), BuildSeconds: buildTimeout.Seconds(),
	})
	if err != nil {
		return "", err
	}
	name := claim.Template.Name
	if claim.State == client.StateReady {
		return name, nil
	}
	built := false
	// Deferred, as the function may also panic, or end the test.
	defer func() {
		if built {
			return
		}
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
		defer cancel()
		_ = api.DeleteTemplate(clean, name) // it gets free by itself after buildTimeout
	}()
	if err := fill(ctx, *claim.Database, o); err != nil {
		return "", fmt.Errorf("build template %s: %w", o.template, err)
	}
	if _, err := api.PutTemplate(ctx, name); err != nil {
		return "", err
	}
	built = true
	return name, nil
}

// fill runs the caller's function; then no connection is left.
func fill(ctx context.Context, d client.Database, o options) error {
	pool, err := newPool(d, o.params)
	if err != nil {
		return err
	}
	defer pool.close(context.WithoutCancel(ctx))
	return o.source.fill(ctx, pool.db)
}
