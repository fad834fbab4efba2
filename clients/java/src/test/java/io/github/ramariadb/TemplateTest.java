package io.github.ramariadb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TemplateTest {
  /** A key of this run alone. */
  private static String key() {
    return "run " + System.nanoTime();
  }

  @Test
  void isBuiltOnce() throws Exception {
    AtomicInteger builds = new AtomicInteger();
    Template.Filler filler = db -> {
      builds.incrementAndGet();
      Connection c = db.dataSource().getConnection(); // left open, with a transaction: it is closed
      DatabaseTest.execute(c, "CREATE TABLE item (id INT PRIMARY KEY)");
      DatabaseTest.execute(c, "INSERT INTO item VALUES (1), (2)");
      c.setAutoCommit(false);
      DatabaseTest.execute(c, "INSERT INTO item VALUES (3)");
    };
    String key = key();
    // Each as another process would: with a connection and a description of its own.
    List<CompletableFuture<Integer>> all = Stream.generate(() -> CompletableFuture.supplyAsync(() -> {
      try (Ramaria ramaria = Ramaria.connect(); Database db = ramaria.lease(Template.build("built", key, filler));
          Connection c = db.dataSource().getConnection()) {
        return DatabaseTest.count(c);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    })).limit(4).toList();
    for (CompletableFuture<Integer> one : all) {
      assertEquals(2, one.get());
    }
    assertEquals(1, builds.get());
  }

  @Test
  void isTriedAnewAfterAFailure() {
    String key = key();
    Exception oops = new Exception("oops");
    try (Ramaria ramaria = Ramaria.connect()) {
      RamariaException e = assertThrows(RamariaException.class, () -> ramaria.prepare(Template.build("failing", key, db -> {
        throw oops;
      })));
      assertEquals("fill template failing: oops", e.getMessage());
      assertSame(oops, e.getCause());
      String name = ramaria.prepare(Template.build("failing", key, db -> { }));
      assertEquals(name, ramaria.prepare(Template.build("failing", key, db -> {
        throw oops;
      })));
    }
  }

  @Test
  void saysWhatIsWrongWithADump(@TempDir Path dir) throws Exception {
    Path bad = Files.writeString(dir.resolve("bad.sql"), "CREATE TABLE t (id INT);\nINSERT INTO nowhere VALUES (1);\n");
    try (Ramaria ramaria = Ramaria.connect()) {
      RamariaException e = assertThrows(RamariaException.class, () -> ramaria.lease(Template.fromDump("bad", bad)));
      assertTrue(e.getMessage().contains("nowhere"), e.getMessage());
    }
    assertThrows(IllegalArgumentException.class, () -> Template.fromDump("none"));
  }

  @Test
  void keyStandsForNamesAndContent(@TempDir Path dir) throws Exception {
    Files.writeString(dir.resolve("1.sql"), "a");
    Files.writeString(dir.resolve("2.sql"), "b");
    String key = Template.keyOf(dir);
    assertEquals(key, Template.keyOf(dir));
    Files.writeString(dir.resolve("2.sql"), "c");
    assertNotEquals(key, Template.keyOf(dir));
    Files.writeString(dir.resolve("2.sql"), "b");
    Files.move(dir.resolve("2.sql"), dir.resolve("3.sql"));
    assertNotEquals(key, Template.keyOf(dir));
  }
}
