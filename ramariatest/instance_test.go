package ramariatest

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/client"
)

// TestAnotherIsRefused: an instance that is there and is not what the variables choose is an
// error, whether RAMARIA_API names it or its name does.
func TestAnotherIsRefused(t *testing.T) {
	ctx := t.Context()
	socket, err := findSocket(ctx)
	if err != nil {
		t.Fatal(err)
	}
	status, err := client.New(socket).Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	another := map[string]string{"mariadb": "mysql", "mysql": "mariadb"}[status.Server.Flavour]
	for _, variable := range []struct{ name, value string }{{"RAMARIA_SERVER", another}} {
		t.Run(variable.name, func(t *testing.T) {
			t.Setenv(variable.name, variable.value)
			if _, err := findSocket(ctx); err == nil || !strings.Contains(err.Error(), variable.name+": made with") {
				t.Errorf("by its name: %v", err)
			}
			t.Setenv(client.EnvVar, socket)
			var refused *client.Error
			if _, err := findSocket(ctx); !errors.As(err, &refused) || refused.Code != client.CodeOther {
				t.Errorf("by its API: %v", err)
			}
		})
	}
	t.Setenv(client.EnvVar, socket)
	if got, err := findSocket(ctx); err != nil || got != socket {
		t.Errorf("the one that is wanted: %q, %v", got, err)
	}
	t.Setenv(EnvInstance, "another")
	if _, err := findSocket(ctx); err == nil || !strings.Contains(err.Error(), "another was asked for") {
		t.Errorf("another name: %v", err)
	}
}
