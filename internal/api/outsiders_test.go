package api

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// askSocket names, for TestAskAsAnother, the socket that this process is to ask.
const askSocket = "RAMARIA_TEST_ASK"

// TestServersAreRefused has a process that a server has started, and one that nobody has marked, ask the API. Both
// may open the socket: they are ours.
func TestServersAreRefused(t *testing.T) {
	socket, log := start(t, Handler(full(), (&buffer{}).logger()))
	for _, marked := range []bool{false, true} {
		// A shell stands for the server, and what asks is started by what it has started.
		server := exec.Command("sh", "-c", `read go; (exec "$0" -test.run '^TestAskAsAnother$' -test.v)`, os.Args[0])
		server.Env = append(os.Environ(), askSocket+"="+socket)
		var out strings.Builder
		server.Stdout = &out
		hold, err := server.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		if marked {
			if err := sys.MarkServer(server.Process.Pid); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := fmt.Fprintln(hold, "go"); err != nil {
			t.Fatal(err)
		}
		if err := server.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if answered := strings.Contains(out.String(), "the API answered"); answered == marked {
			t.Errorf("a process of a server: %v; the API said:\n%s", marked, out.String())
		}
		if told := strings.Contains(log.String(), "a connection to the API was refused"); told != marked {
			t.Errorf("a process of a server: %v; the log has:\n%s", marked, log.String())
		}
	}
}

// TestAskAsAnother is what TestServersAreRefused starts.
func TestAskAsAnother(t *testing.T) {
	socket := os.Getenv(askSocket)
	if socket == "" {
		return
	}
	// It may not make itself another's again, nor ask as a process that has ended.
	_ = exec.Command("sh", "-c", "ulimit -x unlimited").Run()
	if _, err := client.New(socket).Status(t.Context()); err != nil {
		t.Logf("refused: %v", err)
		return
	}
	t.Log("the API answered")
}
