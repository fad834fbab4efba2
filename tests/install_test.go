package tests

import (
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestInstall: install.sh puts the program and what belongs to it where it is told, and nothing where the archive is not
// the one that was published.
func TestInstall(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	archive, whole := makeRelease(t, from, "0.0.1", "#!/bin/sh\necho ramaria version 0.0.1\n")
	install := func(env ...string) (string, error) {
		cmd := exec.Command("sh", filepath.Join("..", "packaging", "release", "install.sh"))
		cmd.Env = append(os.Environ(), append([]string{"FROM=" + from}, env...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	prefix := filepath.Join(t.TempDir(), "it's here")
	for range 2 { // also over itself
		out, err := install("PREFIX=" + prefix)
		if err != nil || !strings.Contains(out, "installed ramaria version 0.0.1") || !strings.Contains(out, "hint: export PATH=") {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, path := range []string{"bin/ramaria", "share/man/man1/ramaria.1.gz", "share/bash-completion/completions/ramaria", "share/zsh/site-functions/_ramaria", "share/fish/vendor_completions.d/ramaria.fish"} {
		if _, err := os.Stat(filepath.Join(prefix, path)); err != nil {
			t.Error(err)
		}
	}
	home := t.TempDir()
	if os.Geteuid() != 0 {
		if out, err := install("HOME=" + home); err != nil {
			t.Errorf("without PREFIX: %v: %s", err, out)
		} else if _, err := os.Stat(filepath.Join(home, ".local", "bin", "ramaria")); err != nil {
			t.Error(err)
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	if out, err := install("PREFIX="+none, "VERSION=9.9.9"); err == nil || !strings.Contains(out, "ramaria-0.0.1-linux-"+runtime.GOARCH+".tar.gz, and not version 9.9.9\nhint: ") {
		t.Errorf("another version: %v: %s", err, out)
	}
	if out, err := install("PREFIX="+prefix, "VERSION=v0.0.1"); err != nil {
		t.Errorf("the same version: %v: %s", err, out)
	}
	if err := os.WriteFile(archive, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := install("PREFIX=" + none); err == nil || !strings.Contains(out, "is not what SHA256SUMS says") {
		t.Errorf("an archive that is not whole: %v: %s", err, out)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("something of it was installed")
	}
	if out, err := install("PREFIX="+none, "FROM="+none); err == nil || !strings.Contains(out, "cannot read") {
		t.Errorf("from nowhere: %v: %s", err, out)
	}
}

// TestInstallRedirected: what was asked for by HTTPS comes by HTTPS, also where the server sends on, by curl and by wget.
// A wget that cannot be told so is not used.
func TestInstallRedirected(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	makeRelease(t, from, "0.0.1", "#!/bin/sh\necho ramaria version 0.0.1\n")
	files := http.FileServer(http.Dir(from))
	plain, safe := httptest.NewServer(files), httptest.NewTLSServer(files)
	t.Cleanup(plain.Close)
	t.Cleanup(safe.Close)
	gate := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{"down": plain.URL, "on": safe.URL}[strings.Split(r.URL.Path, "/")[1]]
		http.Redirect(w, r, to+"/"+path.Base(r.URL.Path), http.StatusFound)
	}))
	t.Cleanup(gate.Close)
	dir := t.TempDir()
	var certs []byte
	for _, s := range []*httptest.Server{safe, gate} {
		certs = append(certs, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})...)
	}
	ca, rc := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "wgetrc")
	for file, text := range map[string]string{ca: string(certs), rc: "ca_certificate = " + ca + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	install := func(prefix, bin, url string) (string, error) {
		cmd := exec.Command("/bin/sh", filepath.Join("..", "packaging", "release", "install.sh"))
		cmd.Env = append(os.Environ(), "FROM="+url, "PREFIX="+prefix, "PATH="+bin, "CURL_CA_BUNDLE="+ca, "WGETRC="+rc)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, with := range []string{"curl", "wget"} {
		if _, err := exec.LookPath(with); err != nil {
			t.Logf("SKIPPED, UNTESTED: install.sh by %s, which is not installed", with)
			continue
		}
		bin := tools(t, with)
		prefix := filepath.Join(dir, with)
		if out, err := install(prefix, bin, gate.URL+"/down"); err == nil {
			t.Errorf("by %s it came without encryption: %s", with, out)
		} else if _, serr := os.Stat(prefix); serr == nil {
			t.Errorf("by %s something was installed: %s", with, out)
		}
		if out, err := install(prefix, bin, gate.URL+"/on"); err != nil || !strings.Contains(out, "installed ramaria version 0.0.1") {
			t.Errorf("by %s from where an encrypted server sends on to: %v: %s", with, err, out)
		}
		if out, err := install(prefix, bin, safe.URL+"/none"); err == nil || !strings.Contains(out, "404") {
			t.Errorf("by %s from where there is nothing: %v: %s", with, err, out)
		}
	}
	for name, said := range map[string]string{"BusyBox's": "echo 'wget: unrecognized option' >&2; exit 1", "Wget2": "echo 'GNU Wget2 2.1.0 - multithreaded metalink/file/website downloader'"} {
		bin := tools(t, "")
		if err := os.WriteFile(filepath.Join(bin, "wget"), []byte("#!/bin/sh\n"+said+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := install(filepath.Join(dir, "none"), bin, gate.URL+"/on"); err == nil || !strings.Contains(out, "\nhint: install curl, or GNU wget 1;") {
			t.Errorf("by %s, a wget that cannot be told: %v: %s", name, err, out)
		}
	}
}

// sentOn is a wget that has the files of $FILES at https://gate/files/, and is sent on from https://gate/on/ to where $TO says.
const sentOn = `#!/bin/sh
[ "$1" != --version ] || { echo 'GNU Wget 1.21.3 built on linux-gnu.'; exit; }
case $4 in
https://gate/files/*) cp "$FILES/${4##*/}" "$3" ;;
https://gate/on/*) echo "Location: $TO/${4##*/} [following]" >&2; exit 8 ;;
*) echo "asked for $4" >&2; exit 4 ;;
esac
`

// TestInstallSentOn: where a server sends on to may be said without the server, or without how it is asked.
func TestInstallSentOn(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	makeRelease(t, from, "0.0.1", "#!/bin/sh\necho ramaria version 0.0.1\n")
	bin := tools(t, "")
	if err := os.WriteFile(filepath.Join(bin, "wget"), []byte(sentOn), 0o755); err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]string{
		"/files": "installed ramaria version 0.0.1", "//gate/files": "installed ramaria version 0.0.1", "https://gate/files": "installed ramaria version 0.0.1",
		"http://gate/files": "leads to http://gate/files/SHA256SUMS, and not to https", "/nowhere": "asked for https://gate/nowhere/SHA256SUMS",
	} {
		cmd := exec.Command("/bin/sh", filepath.Join("..", "packaging", "release", "install.sh"))
		cmd.Env = append(os.Environ(), "FROM=https://gate/on", "PREFIX="+t.TempDir(), "PATH="+bin, "FILES="+from, "TO="+to)
		if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), want) {
			t.Errorf("sent on to %s: %v: %s", to, err, out)
		}
	}
}

// tools is a directory with what install.sh calls, and one program that fetches.
func tools(t *testing.T, fetch string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "id", "uname", "mktemp", "rm", "sed", "tail", "grep", "cp", "cut", "sha256sum", "tar", "gzip", "mkdir", "dirname", "chmod", "mv", fetch} {
		if name == "" {
			continue
		}
		at, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(at, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// makeRelease puts what install.sh takes of a release into a directory, and returns the path of the archive and what is
// in it.
func makeRelease(t *testing.T, dir, version, program string) (path string, archive []byte) {
	t.Helper()
	name := fmt.Sprintf("ramaria-%s-linux-%s", version, runtime.GOARCH)
	for file, text := range map[string]string{
		"ramaria": program, "man1/ramaria.1.gz": "a page",
		"completions/ramaria": "bash", "completions/_ramaria": "zsh", "completions/ramaria.fish": "fish",
	} {
		file = filepath.Join(dir, name, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path = filepath.Join(dir, name+".tar.gz")
	if out, err := exec.CommandContext(t.Context(), "tar", "-C", dir, "-czf", path, name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	archive, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sums := fmt.Sprintf("%x  %s.tar.gz\n%x  ramaria-%s-linux-riscv64.tar.gz\n", sha256.Sum256(archive), name, sha256.Sum256(nil), version)
	if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, archive
}
