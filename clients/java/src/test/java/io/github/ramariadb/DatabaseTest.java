package io.github.ramariadb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DatabaseTest {
  static final Template SHOP = Template.fromDump("shop", Path.of("src/test/resources/shop.sql"));
  private static final String INSERT = "INSERT INTO item (name, price) VALUES ('eraser', 50)";

  private static Ramaria ramaria;

  @BeforeAll
  static void connect() {
    ramaria = Ramaria.connect();
  }

  @AfterAll
  static void disconnect() {
    ramaria.close();
  }

  static int count(Connection c) throws SQLException {
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT COUNT(*) FROM item")) {
      r.next();
      return r.getInt(1);
    }
  }

  static void execute(Connection c, String sql) throws SQLException {
    try (Statement s = c.createStatement()) {
      s.execute(sql);
    }
  }

  @ParameterizedTest
  @EnumSource
  void resetsAndKeepsConnections(Driver driver) throws SQLException {
    try (Database db = ramaria.lease(SHOP); Connection c = db.dataSource(driver).getConnection()) {
      assertEquals("noop", db.reset().way());
      try (PreparedStatement p = c.prepareStatement("SELECT name FROM item WHERE id = ?")) {
        execute(c, INSERT);
        execute(c, "UPDATE item SET name = 'crayon' WHERE id = 1");
        Reset reset = db.reset();
        assertEquals("rewind", reset.way());
        assertTrue(reset.micros() > 0 && reset.warnings().isEmpty() && reset.why().isEmpty(), reset.toString());
        assertEquals(3, count(c));
        p.setInt(1, 1);
        ResultSet r = p.executeQuery();
        assertTrue(r.next());
        assertEquals("pencil", r.getString(1));
        assertSame(p, r.getStatement());
        assertSame(c, p.getConnection());
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void rollsBackBeforeAReset(Driver driver) throws SQLException {
    try (Database db = ramaria.lease(SHOP);
        Connection manual = db.dataSource(driver).getConnection();
        Connection spoken = db.dataSource(driver).getConnection()) {
      manual.setAutoCommit(false);
      execute(manual, INSERT);
      execute(spoken, "START TRANSACTION");
      execute(spoken, "UPDATE item SET price = 1 WHERE id = 2");
      db.reset();
      assertEquals(3, count(manual));
      assertEquals(3, count(spoken));
    }
  }

  @ParameterizedTest
  @EnumSource
  void saysWhyAResetEndedAConnection(Driver driver) throws Exception {
    try (Database db = ramaria.lease(SHOP);
        Connection c = db.dataSource(driver).getConnection();
        Connection other = db.dataSource(driver).getConnection()) {
      c.setAutoCommit(false);
      execute(c, INSERT);
      CompletableFuture<Void> busy = CompletableFuture.runAsync(() -> {
        SQLException e = assertThrows(SQLException.class, () -> execute(c, "SELECT SLEEP(30) FROM item"));
        assertEquals(Guard.WHY, e.getMessage());
      });
      while (!sleeps(other)) {
        Thread.sleep(5);
      }
      db.reset();
      busy.get(20, TimeUnit.SECONDS);
      SQLException e = assertThrows(SQLException.class, () -> count(c));
      assertEquals(Guard.WHY, e.getMessage());
      assertTrue(e.getCause() instanceof SQLException);
      assertEquals(3, count(other));
    }
  }

  private static boolean sleeps(Connection c) throws SQLException {
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'")) {
      r.next();
      return r.getInt(1) > 0;
    }
  }

  /** The control of the test before: only a connection that a reset may have ended says so. */
  @ParameterizedTest
  @EnumSource
  void leavesOtherErrorsAlone(Driver driver) throws SQLException {
    try (Database db = ramaria.lease(SHOP);
        Connection killed = db.dataSource(driver).getConnection();
        Connection other = db.dataSource(driver).getConnection()) {
      db.reset();
      try (Statement s = killed.createStatement(); ResultSet r = s.executeQuery("SELECT CONNECTION_ID()")) {
        r.next();
        execute(other, "KILL " + r.getLong(1));
      }
      SQLException e = assertThrows(SQLException.class, () -> count(killed));
      assertNotEquals(Guard.WHY, e.getMessage());
      SQLException syntax = assertThrows(SQLException.class, () -> execute(other, "SELEC"));
      assertEquals(1064, syntax.getErrorCode());
    }
  }

  @ParameterizedTest
  @EnumSource
  void givesBack(Driver driver) throws SQLException {
    Database db = ramaria.lease(SHOP);
    Connection c = db.dataSource(driver).getConnection();
    db.close();
    db.close();
    assertTrue(c.isClosed());
    assertThrows(SQLException.class, () -> DriverManager.getConnection(db.jdbcUrl(driver)));
    RamariaException e = assertThrows(RamariaException.class, db::reset);
    assertEquals("not_found", e.code());
  }

  @Test
  void rollsBackToItsSavepoint() throws SQLException {
    try (Database db = ramaria.lease(SHOP); Connection c = db.dataSource().getConnection()) {
      execute(c, INSERT);
      db.setSavepoint();
      execute(c, "DELETE FROM item");
      assertEquals("rewind", db.rollBack().way());
      assertEquals(4, count(c));
      db.reset();
      assertEquals(3, count(c));
      assertEquals("lost", assertThrows(RamariaException.class, db::rollBack).code());
    }
  }

  @Test
  void keeps() throws SQLException {
    Database db = ramaria.lease(SHOP);
    try (db; Connection c = db.dataSource().getConnection()) {
      execute(c, INSERT);
      db.keep();
    }
    try (Connection c = DriverManager.getConnection(db.jdbcUrl())) {
      assertEquals(4, count(c));
    }
  }

  @Test
  void oneTestDoesNotSeeAnother() throws SQLException {
    try (Database a = ramaria.lease(SHOP); Database b = ramaria.lease(SHOP);
        Connection ca = a.dataSource().getConnection(); Connection cb = b.dataSource().getConnection()) {
      assertNotEquals(a.name(), b.name());
      execute(ca, INSERT);
      assertEquals(3, count(cb));
      SQLException e = assertThrows(SQLException.class, () -> execute(cb, "SELECT * FROM " + a.name() + ".item"));
      assertFalse(e.getMessage().isEmpty());
    }
  }
}
