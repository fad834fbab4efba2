package cli

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// TestEnvFormats: what each program reads is what there is, whatever the password has in it.
func TestEnvFormats(t *testing.T) {
	const password = `p;a"s's w$@/:&=%\`
	i := &instance.Instance{}
	i.Server = &server.Server{Flavour: server.MySQL}
	i.Endpoint = dbconn.Endpoint{Host: "127.0.0.1", Port: 4000, Socket: "/run/s", Login: dbconn.Login{User: "app", Password: password}, Database: "my shop"}
	text := map[string]string{}
	for _, f := range envFormats {
		var err error
		if f.name == "remote" { // TestRemoteAPI has it
			continue
		}
		if text[f.name], err = f.write(i); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"dotnet": `Server=127.0.0.1;Port=4000;Database="my shop";User ID=app;Password="p;a""s's w$@/:&=%\"` + "\n",
		"jdbc":   "jdbc:mysql://127.0.0.1:4000/my%20shop?password=p%3Ba%22s%27s+w%24%40%2F%3A%26%3D%25%5C&user=app\n",
	} {
		if text[name] != want {
			t.Errorf("%s: %s, want %s", name, text[name], want)
		}
	}
	c, err := mysql.ParseDSN(text["go"][:len(text["go"])-1])
	if err != nil || c.Passwd != password || c.DBName != "my shop" || c.Addr != "127.0.0.1:4000" {
		t.Errorf("go: %s: %+v, %v", text["go"], c, err)
	}
	u, err := url.Parse(text["rails"][:len(text["rails"])-1])
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := u.User.Password(); got != password || u.Scheme != "mysql2" || u.Path != "/my shop" {
		t.Errorf("rails: %s", text["rails"])
	}
	var all struct{ Password, Database, URL string }
	if err := json.Unmarshal([]byte(text["json"]), &all); err != nil || all.Password != password || all.URL != i.Endpoint.URL() {
		t.Errorf("json: %s: %v", text["json"], err)
	}
	if got, want := dotenvQuote("it's $5"), `"it's \$5"`; got != want {
		t.Errorf("dotenv: %s, want %s", got, want)
	}
	if got, want := dotenvQuote(`$5 \ "x"`), `'$5 \ "x"'`; got != want {
		t.Errorf("dotenv: %s, want %s", got, want)
	}
}
