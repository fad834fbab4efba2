package supervisor

import (
	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// Env returns the variables, as K=V, by which programs find an instance and its API. Its
// name is among them, so that a RAMARIA_INSTANCE of before does not contradict RAMARIA_API.
func Env(i *instance.Instance) []string {
	return append(i.Endpoint.Env(i.ClientDir()), client.EnvVar+"="+i.APISocket(), client.EnvInstance+"="+i.Name)
}
