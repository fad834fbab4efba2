package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/supervisor"
)

// envFormat writes how to reach an instance in the way that some program takes it.
type envFormat struct {
	name  string
	write func(i *instance.Instance) (string, error)
}

// envFormats are the formats of `ramaria env`, the first for eval by a shell.
var envFormats = []envFormat{
	{"shell", func(i *instance.Instance) (string, error) {
		return variables(i, "export %s=%s\n", server.ShellQuote), nil
	}},
	{"dotenv", func(i *instance.Instance) (string, error) { return variables(i, "%s=%s\n", dotenvQuote), nil }},
	{"json", jsonEnv},
	{"jdbc", func(i *instance.Instance) (string, error) { return jdbcURL(i) + "\n", nil }},
	{"rails", func(i *instance.Instance) (string, error) { return railsURL(i) + "\n", nil }},
	{"go", func(i *instance.Instance) (string, error) { return i.Endpoint.GoDSN() + "\n", nil }},
	{"dotnet", func(i *instance.Instance) (string, error) { return dotnetString(i) + "\n", nil }},
	{"remote", remoteEnv},
}

func envFormatNames() []string {
	var names []string
	for _, f := range envFormats {
		names = append(names, f.name)
	}
	return names
}

// envFormatOf returns the format of a name.
func envFormatOf(name string) (envFormat, error) {
	i := slices.IndexFunc(envFormats, func(f envFormat) bool { return f.name == name })
	if i < 0 {
		return envFormat{}, usageError{fmt.Errorf("use --format %s: there are %s\nhint: --format dotenv", sayable(name), strings.Join(envFormatNames(), ", "))}
	}
	return envFormats[i], nil
}

func variables(i *instance.Instance, line string, quote func(string) string) string {
	var b strings.Builder
	for _, kv := range supervisor.Env(i) {
		k, v, _ := strings.Cut(kv, "=")
		fmt.Fprintf(&b, line, k, quote(v))
	}
	return b.String()
}

// dotenvQuote writes a value in single quotes, in which nothing is replaced, or in double quotes if it has one.
func dotenvQuote(s string) string {
	if !strings.ContainsAny(s, "'\n") {
		return "'" + s + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "\n", `\n`).Replace(s) + `"`
}

func jsonEnv(i *instance.Instance) (string, error) {
	e := i.Endpoint
	api, keys, err := i.RemoteAPI()
	if err != nil {
		return "", err
	}
	token := ""
	if keys != nil {
		token = keys.Token
	}
	out, err := json.MarshalIndent(struct { // #nosec G117 -- it is what was asked for
		Instance string `json:"instance"`
		Host     string `json:"host"`
		Port     int    `json:"port"`
		Socket   string `json:"socket"`
		User     string `json:"user"`
		Password string `json:"password"`
		Database string `json:"database"`
		URL      string `json:"url"`
		API      string `json:"api"`
		Front    int    `json:"front,omitempty"`
		Remote   string `json:"remote_api,omitempty"`
		Token    string `json:"remote_token,omitempty"`
	}{i.Name, e.Host, e.Port, e.Socket, e.User, e.Password, e.Database, e.URL(), i.APISocket(), i.Spec.Front, api, token}, "", "  ")
	return string(out) + "\n", err
}

// remoteEnv is what clients on other machines need, and nothing besides.
func remoteEnv(i *instance.Instance) (string, error) {
	api, keys, err := i.RemoteAPI()
	if err != nil {
		return "", err
	}
	if api == "" {
		return "", fmt.Errorf("use --format remote: instance %s is not open to other machines\nhint: ramaria down %[1]s && ramaria up %[1]s --api-listen ADDRESS:PORT", i.Name)
	}
	return fmt.Sprintf("export %s=%s\nexport %s=%s\n", client.EnvVar, server.ShellQuote(api), client.EnvToken, server.ShellQuote(keys.Token)), nil
}

func hostPort(i *instance.Instance) string {
	return net.JoinHostPort(i.Endpoint.Host, strconv.Itoa(i.Endpoint.Port))
}

// jdbcURL is for the driver of the server's own flavour.
func jdbcURL(i *instance.Instance) string {
	scheme := "mariadb"
	if i.Server.Flavour == server.MySQL {
		scheme = "mysql"
	}
	q := url.Values{"user": {i.Endpoint.User}, "password": {i.Endpoint.Password}}
	return fmt.Sprintf("jdbc:%s://%s/%s?%s", scheme, hostPort(i), url.PathEscape(i.Endpoint.Database), q.Encode())
}

func railsURL(i *instance.Instance) string {
	return "mysql2" + strings.TrimPrefix(i.Endpoint.URL(), "mysql")
}

// dotnetString is a connection string of ADO.NET, whose values may stand in double quotes.
func dotnetString(i *instance.Instance) string {
	e := i.Endpoint
	quote := func(s string) string {
		if strings.ContainsAny(s, `;='" `) {
			return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
		return s
	}
	return fmt.Sprintf("Server=%s;Port=%d;Database=%s;User ID=%s;Password=%s", e.Host, e.Port, quote(e.Database), quote(e.User), quote(e.Password))
}
