package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.ramariadb.junit.RamariaDatabase;
import io.github.ramariadb.junit.RamariaExtension;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ShopTest {
  @RegisterExtension
  static final Extension database = Plain.or(RamariaExtension.template("shop").from("../shop.sql"));

  @BeforeEach
  void look(@RamariaDatabase Connection db) throws Exception {
    Plain.look(db);
  }

  /** A benchmark wants more tests than one of each. */
  static IntStream times() {
    return IntStream.range(0, Integer.parseInt(System.getenv().getOrDefault("TIMES", "1")));
  }

  @ParameterizedTest
  @MethodSource("times")
  void addsAnItem(int n, @RamariaDatabase Connection db) throws SQLException {
    run(db, "INSERT INTO items (name) VALUES ('cocoa " + n + "')");
    assertEquals(List.of("tea", "coffee", "cocoa " + n), names(db));
  }

  @ParameterizedTest
  @MethodSource("times")
  void renamesAnItem(int n, @RamariaDatabase Connection db) throws SQLException {
    run(db, "UPDATE items SET name = 'chai " + n + "' WHERE id = 1");
    assertEquals(List.of("chai " + n, "coffee"), names(db));
  }

  @ParameterizedTest
  @MethodSource("times")
  void deletesAnItem(int n, @RamariaDatabase Connection db) throws SQLException {
    run(db, "DELETE FROM items WHERE id = 2");
    assertEquals(List.of("tea"), names(db));
  }

  @ParameterizedTest
  @MethodSource("times")
  void altersTheTable(int n, @RamariaDatabase Connection db) throws SQLException {
    run(db, "ALTER TABLE items ADD COLUMN price_" + n + " INT");
    assertEquals(List.of("tea", "coffee"), names(db));
  }

  @ParameterizedTest
  @MethodSource("times")
  void setsAVariable(int n, @RamariaDatabase Connection db) throws SQLException {
    run(db, "SET lock_wait_timeout = " + (100 + n));
    assertEquals(List.of("tea", "coffee"), names(db));
  }

  @ParameterizedTest
  @MethodSource("times")
  void onlyReads(int n, @RamariaDatabase Connection db) throws SQLException {
    assertEquals(List.of("tea", "coffee"), names(db));
  }

  private static void run(Connection db, String statement) throws SQLException {
    try (var s = db.createStatement()) {
      s.execute(statement);
    }
  }

  private static List<String> names(Connection db) throws SQLException {
    List<String> names = new ArrayList<>();
    try (var s = db.createStatement(); ResultSet r = s.executeQuery("SELECT name FROM items ORDER BY id")) {
      while (r.next()) {
        names.add(r.getString(1));
      }
    }
    return names;
  }
}
