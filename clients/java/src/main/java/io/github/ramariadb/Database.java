package io.github.ramariadb;

import java.util.List;
import java.util.Map;

/**
 * A clone of a template that its holder has alone. It is given back by {@link #close}; one that is
 * not goes an hour after its last reset.
 */
public final class Database extends Schema implements AutoCloseable {
  private final Api api;
  private boolean released;

  Database(Api api, Map<String, Object> json, String flavour) {
    super(json, flavour);
    this.api = api;
  }

  /**
   * Makes it as its template is. Connections stay, except those with a transaction open; connections of
   * {@link #dataSource} are rolled back first. Not to be called by two threads at once.
   */
  public Reset reset() {
    return putBack("/reset");
  }

  /**
   * Makes what is committed now the savepoint, to which {@link #rollBack} returns until the next reset.
   * A lease has one savepoint.
   */
  public void setSavepoint() {
    api.call("POST", path() + "/savepoint", null);
  }

  /**
   * Puts it back to its savepoint. An exception with the code {@code lost} says that it has none, or that
   * undoing rows does not lead back to it: then it was reset. Connections as for {@link #reset}.
   */
  public Reset rollBack() {
    return putBack("/rollback");
  }

  private Reset putBack(String how) {
    connections.rollBack();
    Map<String, Object> r = api.call("POST", path() + how, null);
    return new Reset((String) r.get("way"), ((Number) r.get("micros")).longValue(),
        (String) r.getOrDefault("why", ""), strings(r.get("warnings")));
  }

  /**
   * Takes it out of the pool: from now on nothing resets or removes it, and {@link #close} leaves it
   * as it is. Connections of {@link #dataSource} are closed, and what they had not committed is lost.
   */
  public void keep() {
    api.call("POST", path() + "/keep", null);
    connections.close();
    released = true;
  }

  /** Gives it back, and ends its connections. May be called more than once. */
  @Override
  public void close() {
    if (released) {
      return;
    }
    connections.close();
    try {
      api.call("DELETE", path(), null);
    } catch (RamariaException e) {
      if (!e.code().equals("not_found")) { // it has expired
        throw e;
      }
    }
    released = true;
  }

  private String path() {
    return "/v1/databases/" + Api.escape(name());
  }

  private static List<String> strings(Object list) {
    return list instanceof List<?> l ? l.stream().map(String::valueOf).toList() : List.of();
  }
}
