package io.github.ramariadb.junit;

import io.github.ramariadb.Database;
import io.github.ramariadb.RamariaException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Supplier;

/**
 * The databases of a test class: as many as its tests ran at the same time. A test has one for
 * itself, whichever thread it is on.
 */
final class Leases implements Closing {
  private final Supplier<Database> lease;
  /** Those that no test has, each as its template is. Guarded by this. */
  private final Deque<Database> free = new ArrayDeque<>();

  Leases(Supplier<Database> lease) {
    this.lease = lease;
  }

  Database take() {
    synchronized (this) {
      if (!free.isEmpty()) {
        return free.pop();
      }
    }
    return lease.get();
  }

  /** Puts it back as it was. If that cannot be done, no other test gets it. */
  void giveBack(Database database) {
    try {
      database.reset();
    } catch (RamariaException e) {
      try {
        database.close();
      } catch (RamariaException too) {
        e.addSuppressed(too);
      }
      throw e;
    }
    synchronized (this) {
      free.push(database);
    }
  }

  @Override
  public synchronized void close() {
    while (!free.isEmpty()) {
      free.pop().close();
    }
  }
}
