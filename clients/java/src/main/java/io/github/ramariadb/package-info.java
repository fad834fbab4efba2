/**
 * Databases for tests from a running Ramaria instance: clones of a template, each put back after a
 * test in a fraction of a millisecond. {@link io.github.ramariadb.Ramaria#connect()} is the way in.
 *
 * <p>Nothing is sent to a socket on which another user than the caller or root listens.
 */
package io.github.ramariadb;
