package io.github.ramariadb.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.fail;

import io.github.ramariadb.Database;
import io.github.ramariadb.Driver;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Test classes that {@link ExtensionTest} runs. */
final class Samples {
  /** The names of the databases that tests had. */
  static final List<String> names = new CopyOnWriteArrayList<>();

  private Samples() {}

  private static RamariaExtension shop() {
    return RamariaExtension.template("shop").from("shop.sql");
  }

  static int count(Connection c) throws SQLException {
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT COUNT(*) FROM item")) {
      r.next();
      return r.getInt(1);
    }
  }

  /** Finds the database as the template is, changes it, and sees no other test's change. */
  private static void change(Connection c) throws SQLException {
    assertEquals(3, count(c));
    try (Statement s = c.createStatement()) {
      s.execute("INSERT INTO item (name, price) VALUES ('eraser', 50)");
      s.execute("SELECT SLEEP(0.005)");
      s.execute("UPDATE item SET price = price + 1");
    }
    assertEquals(4, count(c));
  }

  /** Counts the tests of a class that run at once, each for longer than it has a database. */
  static class AtOnce implements BeforeEachCallback {
    /** By the class whose databases they have, the most that there were. */
    static final Map<Class<?>, Integer> most = new ConcurrentHashMap<>();

    private final Map<Class<?>, Integer> now = new ConcurrentHashMap<>();

    @Override
    public void beforeEach(ExtensionContext context) {
      List<Class<?>> outer = context.getEnclosingTestClasses();
      Class<?> of = outer.isEmpty() ? context.getRequiredTestClass() : outer.get(0);
      most.merge(of, now.merge(of, 1, Integer::sum), Math::max);
      // JUnit closes what is put first last: after the test has given its database back.
      context.getStore(Namespace.create(this)).put(this, (CloseableResource) () -> now.merge(of, -1, Integer::sum));
    }
  }

  static class Changes {
    @RegisterExtension @Order(1) static AtOnce atOnce = new AtOnce();
    @RegisterExtension @Order(2) static RamariaExtension ramaria = shop();

    private Database before;

    @BeforeEach
    void remember(@RamariaDatabase Database db) {
      before = db;
    }

    @RepeatedTest(20)
    void changes(@RamariaDatabase Database db, @RamariaDatabase DataSource source) throws SQLException {
      assertEquals(before, db);
      names.add(db.name());
      try (Connection c = source.getConnection()) {
        change(c);
      }
    }

    @ParameterizedTest
    @EnumSource
    void changesWith(Driver driver, @RamariaDatabase Database db) throws SQLException {
      names.add(db.name());
      try (Connection c = DriverManager.getConnection(db.jdbcUrl(driver))) {
        change(c);
      }
    }

    @Nested
    class Inside {
      @Test
      void changes(@RamariaDatabase Database db, @RamariaDatabase String url) throws SQLException {
        names.add(db.name());
        try (Connection c = DriverManager.getConnection(url)) {
          change(c);
        }
      }
    }

    @AfterEach
    void same(@RamariaDatabase Database db) {
      assertEquals(before, db);
    }
  }

  static class MoreChanges extends Changes {}

  static class InTurn {
    @RegisterExtension static RamariaExtension ramaria = shop();

    @BeforeAll
    static void share() {
      ramaria.shared();
    }

    @RepeatedTest(20)
    void changes() throws SQLException {
      names.add(ramaria.shared().name());
      try (Connection c = ramaria.shared().dataSource().getConnection()) {
        change(c);
      }
    }
  }

  static class MoreInTurn extends InTurn {}

  static class Two {
    @RegisterExtension static RamariaExtension shop = shop();
    @RegisterExtension static RamariaExtension empty = RamariaExtension.template("empty").build("1", db -> { });

    @Test
    void both(@RamariaDatabase("shop") Connection full, @RamariaDatabase("empty") Connection empty) throws SQLException {
      assertEquals(3, count(full));
      assertFalse(empty.getMetaData().getTables(empty.getCatalog(), null, "item", null).next());
    }
  }

  /** Rolls a test's transaction back when it is over, as Spring does. */
  static class Outer implements BeforeEachCallback, AfterEachCallback {
    private static Connection connection;

    @Override
    public void beforeEach(ExtensionContext context) throws SQLException {
      if (connection == null) {
        connection = DriverManager.getConnection(Transaction.ramaria.shared().jdbcUrl());
        connection.setAutoCommit(false);
      }
    }

    @Override
    public void afterEach(ExtensionContext context) throws SQLException {
      connection.rollback();
    }
  }

  @ExtendWith(Outer.class)
  static class Transaction {
    @RegisterExtension static RamariaExtension ramaria = shop();

    @RepeatedTest(3)
    void changes() throws SQLException {
      change(Outer.connection);
    }
  }

  /** What a session may leave to the next test: what leaves it, and a question that tells it. */
  enum State {
    FOREIGN_KEY_CHECKS("SET foreign_key_checks = 0", "SELECT @@foreign_key_checks"),
    SQL_MODE("SET SESSION sql_mode = ''", "SELECT @@sql_mode"),
    ISOLATION("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation') AND Value = 'SERIALIZABLE'"),
    AUTOCOMMIT("SET autocommit = 0", "SELECT @@autocommit"),
    TIMESTAMP("SET timestamp = 1000", "SELECT YEAR(NOW()) > 2000"),
    CHARACTER_SET("SET NAMES latin1", "SELECT CONCAT(@@character_set_client, @@collation_connection)"),
    USER_VARIABLE("SET @x = 1", "SELECT @x"),
    TEMPORARY_TABLE("CREATE TEMPORARY TABLE item (a INT)", "SELECT COUNT(*) FROM item"),
    USER_LOCK("DO GET_LOCK('z', 0)", "SELECT IS_FREE_LOCK('z')"),
    DATABASE("USE information_schema", "SELECT DATABASE()"),
    LAST_INSERT_ID("INSERT INTO item (name, price) VALUES ('eraser', 50)", "SELECT LAST_INSERT_ID()"),
    TRANSACTION("START TRANSACTION; DELETE FROM item", "SELECT COUNT(*) FROM item"),
    LOCKED_TABLE("LOCK TABLES item WRITE; DELETE FROM item", "SELECT COUNT(*) FROM item"),
    XA_TRANSACTION("XA START 'left'; DELETE FROM item", "SELECT COUNT(*) FROM item");

    static final Map<State, String> before = new ConcurrentHashMap<>();

    final String leaves;
    final String asks;

    State(String leaves, String asks) {
      this.leaves = leaves;
      this.asks = asks;
    }

    /** The last column of the first row, "none" where there is none. */
    String of(Connection c) throws SQLException {
      try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(asks)) {
        return r.next() ? String.valueOf(r.getString(r.getMetaData().getColumnCount())) : "none";
      }
    }
  }

  /** Each test finds nothing of the session of the one before, which leaves everything in it. */
  static class Sessions {
    @RegisterExtension static RamariaExtension ramaria = shop();

    static List<State> states() {
      return Stream.of(State.values(), State.values()).flatMap(Stream::of).sorted().toList();
    }

    @ParameterizedTest
    @MethodSource("states")
    void leaves(State state, @RamariaDatabase Connection c) throws SQLException {
      String found = state.of(c);
      assertEquals(State.before.computeIfAbsent(state, s -> found), found);
      try (Statement s = c.createStatement()) {
        for (String statement : state.leaves.split("; ")) {
          s.execute(statement);
        }
      }
      assertNotEquals(found, state.of(c));
    }
  }

  static class BeforeAllTests {
    @RegisterExtension static RamariaExtension ramaria = shop();

    @BeforeAll
    static void all(@RamariaDatabase Database db) {}

    @Test
    void never() {}
  }

  static class NotStatic {
    @RegisterExtension RamariaExtension ramaria = shop();

    @Test
    void never(@RamariaDatabase Database db) {}
  }

  @TestMethodOrder(MethodOrderer.OrderAnnotation.class)
  static class Fails {
    @RegisterExtension static RamariaExtension ramaria = shop();

    @Test
    @Order(1)
    void before(@RamariaDatabase Database db) {
      names.add(db.name());
    }

    @Test
    @Order(2)
    void fails(@RamariaDatabase Connection c) throws SQLException {
      change(c);
      fail("as it should");
    }

    @Test
    @Order(3)
    void after(@RamariaDatabase Connection c, @RamariaDatabase Database db) throws SQLException {
      names.add(db.name());
      assertEquals(3, count(c));
    }
  }

  @TestMethodOrder(MethodOrderer.OrderAnnotation.class)
  static class FailsInTurn {
    @RegisterExtension static RamariaExtension ramaria = shop();

    @BeforeAll
    static void share() {
      ramaria.shared();
    }

    @Test
    @Order(1)
    void fails() {
      fail("as it should");
    }

    @Test
    @Order(2)
    void after() {
      fail("not to be run");
    }
  }
}
