package io.github.ramariadb;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.Statement;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/** Stands around one connection, its statements and their results, and explains why a reset ended it. */
final class Guard {
  static final String WHY = "Ramaria ended this connection at a reset, since it had a transaction open; "
      + "roll back or commit before the reset";

  /** The server's words for a connection that is gone: shut down, interrupted, killed, gone away, lost, idle. */
  private static final Set<Integer> LOST = Set.of(1053, 1317, 1927, 2006, 2013, 4031);

  private static final Set<Class<?>> GUARDED =
      Set.of(Statement.class, PreparedStatement.class, CallableStatement.class, ResultSet.class);

  private final Connection real;
  private final Connection connection;
  /** How many calls are under way. */
  private final AtomicInteger busy = new AtomicInteger();
  /** Says that the last reset may have ended it: it was not rolled back before. */
  private volatile boolean endangered;

  Guard(Connection real) {
    this.real = real;
    this.connection = (Connection) proxy(Connection.class, real, null);
  }

  /** What is handed out. */
  Connection connection() {
    return connection;
  }

  boolean closed() {
    try {
      // One that a reset ended still has to explain itself.
      return !endangered && real.isClosed();
    } catch (SQLException e) {
      return true;
    }
  }

  /** A connection at work is let be: to wait for its statement could take for ever. */
  void rollBack() {
    endangered = true;
    if (busy.get() > 0) {
      return;
    }
    try {
      if (!real.getAutoCommit()) {
        real.rollback();
      } else {
        // Drivers refuse rollback() here, yet START TRANSACTION can have been said in SQL.
        try (Statement s = real.createStatement()) {
          s.execute("ROLLBACK");
        }
      }
      endangered = false;
    } catch (SQLException e) {
      // The reset ends the connection if there is need to.
    }
  }

  void close() {
    try {
      if (busy.get() > 0) {
        real.abort(Runnable::run);
      } else {
        real.close();
      }
    } catch (SQLException e) {
      // It is gone already.
    }
  }

  private Object proxy(Class<?> type, Object target, Object parent) {
    return Proxy.newProxyInstance(Guard.class.getClassLoader(), new Class<?>[] {type}, new Handler(target, parent));
  }

  private final class Handler implements InvocationHandler {
    private final Object target;
    private final Object parent;

    Handler(Object target, Object parent) {
      this.target = target;
      this.parent = parent;
    }

    @Override
    public Object invoke(Object self, Method method, Object[] args) throws Throwable {
      switch (method.getName()) {
        case "equals":
          return self == args[0];
        case "hashCode":
          return System.identityHashCode(self);
        case "getConnection":
          return connection;
        case "getStatement":
          if (parent instanceof Statement) {
            return parent;
          }
          break;
        case "close", "abort":
          if (target == real) {
            endangered = false; // its user ends it
          }
          break;
        default:
      }
      busy.incrementAndGet();
      try {
        Object result = method.invoke(target, args);
        return result != null && GUARDED.contains(method.getReturnType()) ? proxy(method.getReturnType(), result, self) : result;
      } catch (InvocationTargetException e) {
        throw explain(e.getCause());
      } finally {
        busy.decrementAndGet();
      }
    }
  }

  private Throwable explain(Throwable t) {
    if (!endangered || !(t instanceof SQLException e)) {
      return t;
    }
    String state = e.getSQLState() == null ? "" : e.getSQLState();
    boolean lost = state.startsWith("08") || LOST.contains(e.getErrorCode()) || isClosed();
    return lost ? new SQLNonTransientConnectionException(WHY, state, e.getErrorCode(), e) : t;
  }

  private boolean isClosed() {
    try {
      return real.isClosed();
    } catch (SQLException e) {
      return true;
    }
  }
}
