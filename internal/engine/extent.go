package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// knowExtent has an archive know how far it went by what the state directory says of its instance.
func (e *Engine) knowExtent(a *durable.Archive, name string) error {
	r, err := e.Registry.Get(name)
	if errors.Is(err, instance.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return a.KnowFrom(e.Registry.ExtentPath(name), r.Archived)
}

// readArchive opens the archive of an instance to read it, and knows how far it went.
func (e *Engine) readArchive(r *instance.Record) (*durable.Archive, error) {
	a, err := durable.OpenReading(e.archiveDir(r.Name, r.Spec))
	if err != nil {
		return nil, err
	}
	return a, e.knowExtent(a, r.Name)
}

// checkLog reads what a recovery of an instance reads of its log.
func (e *Engine) checkLog(r *instance.Record) error {
	a, err := e.readArchive(r)
	if err != nil {
		return err
	}
	return a.CheckLog()
}

// checkExtent is an error if the archive of an instance does not go as far as it went.
func (e *Engine) checkExtent(r *instance.Record) error {
	a, err := e.readArchive(r)
	if err != nil {
		return err
	}
	if err := a.CheckExtent(); err != nil {
		return fmt.Errorf("%w\nhint: put back what is missing; ramaria up %s --accept-loss goes on with what is there", err, r.Name)
	}
	return nil
}

// noteLoss says what a recovery has gone on without.
func (e *Engine) noteLoss(a *durable.Archive, name string, r durable.Recovered) {
	if r.Lost == nil {
		return
	}
	from, to := a.GivenUp()
	when := "to " + to.Local().Format(time.DateTime)
	if !from.IsZero() {
		when = "from " + from.Local().Format(time.DateTime) + " " + when
	}
	e.note("warning: instance %s goes on without what was committed %s, as --accept-loss says: %s", name, when, oneLine(r.Lost))
}
