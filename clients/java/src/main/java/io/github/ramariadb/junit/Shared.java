package io.github.ramariadb.junit;

import io.github.ramariadb.Database;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.opentest4j.TestAbortedException;

/** One database that all tests of an extension use in turn. It is closed when the run ends. */
final class Shared implements Closing {
  /** How long a test waits for its turn. */
  private static final long LIMIT_MINUTES = 10;

  private final Supplier<Database> lease;
  /** Not a lock: a test may end on another thread than it began on. */
  private final Semaphore turn = new Semaphore(1, true);
  /** Null until it is asked for. Written under this. */
  private volatile Database database;
  /** The test that failed and kept the database, or null. Guarded by turn, but for close. */
  private String keptBy;

  Shared(Supplier<Database> lease) {
    this.lease = lease;
  }

  synchronized Database database() {
    if (database == null) {
      database = lease.get();
    }
    return database;
  }

  boolean used() {
    return database != null;
  }

  Lease hold(ExtensionContext test) {
    try {
      if (!turn.tryAcquire(LIMIT_MINUTES, TimeUnit.MINUTES)) {
        throw new IllegalStateException("wait for the shared database: another test has had it for " + LIMIT_MINUTES + " minutes");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("wait for the shared database: interrupted", e);
    }
    if (keptBy != null) {
      turn.release();
      throw new TestAbortedException("the shared database is kept as " + keptBy + " left it");
    }
    return new Lease(database, test, this::giveBack, this::keep);
  }

  private void giveBack(Database d) {
    try {
      d.reset(); // if that fails the test does, and so do those after it: there is no other database for them
    } finally {
      turn.release();
    }
  }

  private void keep(String test) {
    keptBy = test;
    turn.release();
  }

  @Override
  public synchronized void close() {
    if (database != null) {
      database.close();
      database = null;
      keptBy = null;
    }
  }
}
