package io.github.ramariadb;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Logger;
import javax.sql.DataSource;

/** The connections that a database handed out and that were not closed. */
final class Connections {
  private final Schema schema;
  private final Set<Guard> open = ConcurrentHashMap.newKeySet();

  Connections(Schema schema) {
    this.schema = schema;
  }

  /** Rolls back on those that are idle, and remembers which may be ended by the reset that follows. */
  void rollBack() {
    open.removeIf(Guard::closed);
    open.forEach(Guard::rollBack);
  }

  void close() {
    open.forEach(Guard::close);
    open.clear();
  }

  private Connection connect(Driver driver) throws SQLException {
    Guard guard = new Guard(DriverManager.getConnection(schema.jdbcUrl(driver)));
    open.removeIf(Guard::closed);
    open.add(guard);
    return guard.connection();
  }

  /** A null driver is the one on the class path. */
  DataSource dataSource(Driver driver) {
    return new DataSource() {
      @Override
      public Connection getConnection() throws SQLException {
        return connect(driver == null ? schema.driver() : driver);
      }

      @Override
      public Connection getConnection(String user, String password) throws SQLException {
        throw new SQLFeatureNotSupportedException("a leased database has one account");
      }

      @Override
      public PrintWriter getLogWriter() {
        return null;
      }

      @Override
      public void setLogWriter(PrintWriter out) {}

      @Override
      public void setLoginTimeout(int seconds) throws SQLException {
        throw new SQLFeatureNotSupportedException("set the driver's connectTimeout");
      }

      @Override
      public int getLoginTimeout() {
        return 0;
      }

      @Override
      public Logger getParentLogger() throws SQLFeatureNotSupportedException {
        throw new SQLFeatureNotSupportedException("nothing is logged");
      }

      @Override
      public <T> T unwrap(Class<T> type) throws SQLException {
        if (type.isInstance(this)) {
          return type.cast(this);
        }
        throw new SQLException("not a wrapper of " + type.getName());
      }

      @Override
      public boolean isWrapperFor(Class<?> type) {
        return type.isInstance(this);
      }
    };
  }
}
