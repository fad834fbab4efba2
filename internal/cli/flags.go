package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// specFlags are the flags that `up` and `run` share: what an instance is made of.
type specFlags struct {
	server       string
	from         []string
	key          string
	database     string
	allowEmpty   bool
	fit          fitFlags
	user         string
	passwordFile string
	port, front  int
	apiListen    string
	socket       string
	volume       string
	tmpdir       string
	set          []string
	log          string
	confine      string
	whenFull     string
	deviceAtomic string

	durable, recoverWithin, history string
	archive                         []string
	// given reports whether a flag is.
	given func(flag string) bool
}

func (o *specFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "", "server `SOFTWARE`: mariadb, mysql, a series (mariadb:11.8, mysql:9.7), or the path of a mariadbd or mysqld (RAMARIA_SERVER; default: any MariaDB that is found, else one is fetched)")
	f.StringArrayVar(&o.from, "from", nil, "`SOURCE` of the data: a dump (.sql, .sql.gz, .sql.zst, .sql.xz, .sql.bz2, .zip, - for stdin, or at https:// or s3://BUCKET/KEY), a directory of dumps, a stopped server's data directory, an image id, instance:NAME (as it is now), or exec:COMMAND; repeatable")
	f.StringVar(&o.key, "key", "", "`TEXT` that identifies the result of exec:COMMAND: another key, another image")
	f.BoolVar(&o.allowEmpty, "allow-empty", false, allowEmptyFlag)
	o.fit.add(cmd)
	f.StringVar(&o.database, "database", "", "`NAME` of the database for applications, and for dumps without USE (default: named after the dump, else \"app\")")
	f.StringVar(&o.user, "user", image.DefaultUser, "`NAME` of the application's account")
	o.addAround(cmd)
}

// addAround adds the flags that are about what is around the data.
func (o *specFlags) addAround(cmd *cobra.Command) {
	f := cmd.Flags()
	o.given = f.Changed
	f.StringVar(&o.passwordFile, "password-file", "", "`FILE` with the application's password (default: a random one)")
	f.IntVar(&o.port, "port", 0, "TCP `PORT` on 127.0.0.1; 0 is any free one")
	f.StringVar(&o.socket, "socket", "", "`PATH` of the server's Unix socket (default: one in the instance's directory)")
	f.IntVar(&o.front, "front", 0, "TCP `PORT` on 127.0.0.1 of a door that leases clones of templates by the names of databases: see ramaria front")
	f.StringVar(&o.apiListen, "api-listen", instance.APIListenOff, "`ADDRESS:PORT` at which clients on other machines lease clones, over TLS and with a token: see ramaria env --format remote; the server must listen there too, by --set bind_address")
	f.StringVar(&o.volume, "volume", cmp.Or(os.Getenv(envVolume), "auto"), "where data lies: `KIND[:SIZE]`, KIND one of auto, xfs, shm, tmpfs, zram, ramfs, disk (RAMARIA_VOLUME)")
	f.StringVar(&o.tmpdir, "tmpdir", "", "where temporary tables and sorts lie: `DIR`, or tmpfs, or wheatfs[:SIZE], which is RAM first and a disk beyond (default: a tmpfs of the instance's own on xfs and zram while that holds as much as the data, else wheatfs; on others the volume)")
	f.StringArrayVar(&o.set, "set", nil, "server setting `NAME=VALUE`, over ramaria's own; repeatable")
	f.StringVar(&o.log, "log", instance.LogOn, "binary log `on|off`: without one the server writes less, but has no templates, clones or resets")
	_ = cmd.RegisterFlagCompletionFunc("log", cobra.FixedCompletions([]string{instance.LogOn, instance.LogOff}, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&o.confine, "confine", instance.ConfineOn, "confinement `on|off`: on, the server reaches only its own files and what --set names; off, whatever its account may")
	_ = cmd.RegisterFlagCompletionFunc("confine", cobra.FixedCompletions([]string{instance.ConfineOn, instance.ConfineOff}, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&o.whenFull, "when-full", instance.WhenFullReadOnly, "what happens when the volume is nearly full, `read-only|stop|move`: the server becomes read-only, is shut down, or moves to the disk and works on")
	_ = cmd.RegisterFlagCompletionFunc("when-full", cobra.FixedCompletions([]string{instance.WhenFullReadOnly, instance.WhenFullStop, instance.WhenFullMove}, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&o.deviceAtomic, "device-atomic", server.AtomicOff, "on volume disk, leave the doublewrite buffer out, `off|auto|on`: auto, where server, file system and device promise pages that do not tear; on, because you know it of the device")
	_ = cmd.RegisterFlagCompletionFunc("device-atomic", cobra.FixedCompletions([]string{server.AtomicOff, server.AtomicAuto, server.AtomicOn}, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&o.durable, "durable", "", "archive the binary log on a disk: a commit is answered when it is there; with =`INTERVAL` (1s) at most so much is lost, and commits do not wait; =off stops archiving an instance")
	f.Lookup("durable").NoOptDefVal = instance.DurableCommit
	f.StringArrayVar(&o.archive, "archive", nil, "`DIR` of the archive of a durable instance, on a disk (default: below the state directory), or s3://BUCKET/PREFIX, which gets a copy of it; repeatable; s3:off ends copies")
	f.StringVar(&o.recoverWithin, "recover-within", "", "`TIME` that recovery of a durable instance may take: base backups are made in time for that (default 30s)")
	f.StringVar(&o.history, "history", "", "`TIME` for which a durable instance can be restored as it was (default 7d)")
	_ = cmd.MarkFlagFilename("password-file") // fails only for flags that are not there
	_ = cmd.MarkFlagDirname("tmpdir")
}

// spec turns flags into what is written down.
func (o *specFlags) spec() (instance.Spec, error) {
	from, err := image.AbsSources(image.ParseSources(o.from))
	if err == nil {
		from, err = engine.PinSources(from)
	}
	if err != nil {
		return instance.Spec{}, err
	}
	set, err := server.NormalSet(o.set)
	if err != nil {
		return instance.Spec{}, usageError{err}
	}
	if err := dbconn.CheckUser(o.user); err != nil {
		return instance.Spec{}, usageError{err}
	}
	if why := dbconn.UnfitName(o.database); o.database != "" && why != "" {
		return instance.Spec{}, usageError{fmt.Errorf("use database %q: it %s\nhint: --database shop", o.database, why)}
	}
	if o.port < 0 || o.port > 65535 {
		return instance.Spec{}, usageError{fmt.Errorf("use port %d: ports are 0 to 65535\nhint: --port 0 takes any free one", o.port)}
	}
	if least := (host.Host{}).LeastPort(); o.port > 0 && o.port < least {
		return instance.Spec{}, usageError{fmt.Errorf("use port %d: servers do not run as root, and only root may use it\nhint: --port 0 takes any free one; 3306 is the usual one", o.port)}
	}
	if o.log != instance.LogOn && o.log != instance.LogOff {
		return instance.Spec{}, usageError{fmt.Errorf("use --log %s: it is on or off\nhint: --log off", o.log)}
	}
	if o.front < 0 || o.front > 65535 {
		return instance.Spec{}, usageError{fmt.Errorf("use --front %d: ports are 1 to 65535, and 0 is no door\nhint: --front 3307", o.front)}
	}
	if o.front != 0 && o.front == o.port {
		return instance.Spec{}, usageError{fmt.Errorf("use --front %d: that is the server's own port\nhint: --front %d", o.front, o.front+1)}
	}
	if _, err := volume.ParseSpec(cmp.Or(o.volume, string(volume.Auto))); err != nil {
		return instance.Spec{}, usageError{err}
	}
	listen, err := o.listenAPI()
	if err != nil {
		return instance.Spec{}, err
	}
	mapped, err := o.fit.options()
	if err != nil {
		return instance.Spec{}, err
	}
	s := instance.Spec{
		Server: cmp.Or(o.server, os.Getenv(software.EnvServer)), From: from, Key: o.key, AllowEmpty: o.allowEmpty, Fit: mapped, Database: o.database, User: o.user,
		PasswordFile: o.passwordFile, Port: o.port, Socket: o.socket, Front: o.front, APIListen: listen, Volume: o.volume, TmpDir: o.tmpdir, Set: set,
	}
	if o.log == instance.LogOff {
		s.Log = o.log
	}
	if err := o.archived(&s); err != nil {
		return instance.Spec{}, err
	}
	switch o.whenFull {
	case instance.WhenFullReadOnly:
	case instance.WhenFullStop, instance.WhenFullMove:
		s.WhenFull = o.whenFull
	default:
		return instance.Spec{}, usageError{fmt.Errorf("use --when-full %s: it is read-only, stop or move\nhint: --when-full move goes on, on the disk", sayable(o.whenFull))}
	}
	switch o.deviceAtomic {
	case server.AtomicOff:
	case server.AtomicAuto, server.AtomicOn:
		s.DeviceAtomic = o.deviceAtomic
	default:
		return instance.Spec{}, usageError{fmt.Errorf("use --device-atomic %s: it is off, auto or on\nhint: --device-atomic auto", sayable(o.deviceAtomic))}
	}
	switch o.confine {
	case instance.ConfineOn:
	case instance.ConfineOff:
		s.Confine = instance.ConfineOff
	default:
		return instance.Spec{}, usageError{fmt.Errorf("use --confine %s: it is on or off\nhint: --confine off lets the server reach whatever its account may", o.confine)}
	}
	if _, _, err := instance.ParseWheat(s.TmpDir); err != nil {
		return instance.Spec{}, usageError{err}
	}
	for _, p := range []*string{&s.PasswordFile, &s.TmpDir, &s.Socket} {
		if *p == "" || p == &s.TmpDir && instance.IsOwnTmpDir(*p) {
			continue
		}
		if *p, err = filepath.Abs(*p); err != nil {
			return instance.Spec{}, err
		}
	}
	if s.Socket != "" {
		if err := server.CheckSocketPath(s.Socket); err != nil {
			return instance.Spec{}, usageError{err}
		}
	}
	if strings.Contains(s.Server, "/") {
		if s.Server, err = filepath.Abs(s.Server); err != nil {
			return instance.Spec{}, err
		}
	}
	if s.TmpDir != "" && !instance.IsOwnTmpDir(s.TmpDir) {
		if fi, err := os.Stat(s.TmpDir); err != nil || !fi.IsDir() {
			return instance.Spec{}, usageError{fmt.Errorf("use tmpdir %s: it is not a directory\nhint: mkdir -p %s", s.TmpDir, s.TmpDir)}
		}
	}
	return s, nil
}
