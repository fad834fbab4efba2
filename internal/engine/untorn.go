package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// checkAtomic refuses --device-atomic where no device is: a volume in RAM, and a durable instance, whose doublewrite
// buffer is part of its promise.
func checkAtomic(spec instance.Spec) error {
	if spec.DeviceAtomic == "" {
		return nil
	}
	v, err := volume.ParseSpec(spec.Volume)
	switch {
	case err != nil || v.Kind != volume.Disk:
		return RequestError{fmt.Errorf("use --device-atomic %s with volume %s: it is about the device of volume disk; in RAM a kill tears pages\nhint: --volume disk, or leave it out", spec.DeviceAtomic, spec.Volume)}
	case levelOf(spec).Durable():
		return RequestError{errors.New("use --device-atomic with --durable: a durable instance keeps its doublewrite buffer\nhint: leave one of them out")}
	}
	return nil
}

// doctorUntorn tells what the disk volume's file system and device promise of writes of a page.
func (e *Engine) doctorUntorn(context.Context) []Finding {
	dir := e.Places.Disk
	for dir != "/" {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	f := server.UntornFacts{Asked: server.AtomicAuto, Volume: string(volume.Disk), PageSize: server.DefaultPageSize}
	f = f.With(e.Host.Untorn(dir, server.DefaultPageSize))
	promised, says := f.Promised()
	if !promised {
		return []Finding{{"atomic", "ok", "volume disk keeps the doublewrite buffer: " + says, ""}}
	}
	return []Finding{{"atomic", "ok", "volume disk: " + says + " for writes with RWF_ATOMIC. No MariaDB or MySQL uses it, so --device-atomic auto keeps the doublewrite buffer",
		"--device-atomic on where the device's maker promises it of all aligned writes: docs/volumes.md"}}
}
