package supervisor

import (
	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// Env returns the variables, as K=V, by which programs find an instance and its API.
func Env(i *instance.Instance) []string {
	return append(i.Endpoint.Env(), client.EnvVar+"="+i.APISocket())
}
