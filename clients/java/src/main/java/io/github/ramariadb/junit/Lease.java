package io.github.ramariadb.junit;

import io.github.ramariadb.Database;
import io.github.ramariadb.RamariaException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.opentest4j.TestAbortedException;

/**
 * A test's hold on a database. JUnit closes it with the test's context, after the {@code afterEach}
 * of every extension: Spring's, for one, rolls the test's transaction back there.
 */
final class Lease implements Closing {
  private final Database database;
  private final ExtensionContext test;
  private final Consumer<Database> giveBack;
  private final Consumer<String> kept;
  private final Deque<Connection> connections = new ArrayDeque<>();

  /** A database is given back or, with the test's title, kept. */
  Lease(Database database, ExtensionContext test, Consumer<Database> giveBack, Consumer<String> kept) {
    this.database = database;
    this.test = test;
    this.giveBack = giveBack;
    this.kept = kept;
  }

  Database database() {
    return database;
  }

  Connection connection() throws SQLException {
    Connection c = database.dataSource().getConnection();
    connections.push(c);
    return c;
  }

  @Override
  public void close() {
    connections.forEach(Lease::close);
    if (!failed() || !wanted()) {
      giveBack.accept(database);
      return;
    }
    try {
      database.keep();
    } catch (RamariaException e) {
      giveBack.accept(database);
      throw e;
    }
    String title = test.getRequiredTestClass().getSimpleName() + " > " + test.getDisplayName();
    System.err.println("ramaria: " + title + " failed; its database is kept: " + database.url());
    kept.accept(title);
  }

  private static void close(Connection c) {
    try {
      c.close();
    } catch (SQLException e) {
      // The reset ends it if there is need to.
    }
  }

  private boolean failed() {
    return test.getExecutionException().filter(e -> !(e instanceof TestAbortedException)).isPresent();
  }

  private static boolean wanted() {
    String keep = System.getProperty("ramaria.keep", System.getenv("RAMARIA_KEEP"));
    return keep != null && !keep.isEmpty() && !keep.equals("0") && !keep.equals("false");
  }
}
