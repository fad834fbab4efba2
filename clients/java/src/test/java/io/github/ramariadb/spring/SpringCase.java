package io.github.ramariadb.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariDataSource;
import java.util.HashSet;
import java.util.Set;
import javax.sql.DataSource;
import org.junit.jupiter.api.RepeatedTest;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

/** A Spring Boot application whose pool stays open over resets; a class for each driver says which database it has. */
@SpringBootTest
abstract class SpringCase {
  @SpringBootApplication
  static class Application {}

  @Autowired private JdbcTemplate jdbc;
  @Autowired private TransactionTemplate transactions;
  @Autowired private DataSource source;

  /** The connections on the server that the pool had in each test. */
  private static final Set<Long> connections = new HashSet<>();

  private void change() {
    assertEquals(3, count());
    jdbc.update("INSERT INTO item (name, price) VALUES ('eraser', 50)");
    assertEquals(4, count());
    assertEquals(4, jdbc.queryForObject("SELECT MAX(id) FROM item", Integer.class));
  }

  private int count() {
    return jdbc.queryForObject("SELECT COUNT(*) FROM item", Integer.class);
  }

  private void sameConnections() {
    assertTrue(source instanceof HikariDataSource, source.getClass().getName());
    connections.add(jdbc.queryForObject("SELECT CONNECTION_ID()", Long.class));
    assertTrue(connections.size() <= 6, "two pools of three made the connections " + connections);
  }

  @RepeatedTest(10)
  void commits() {
    sameConnections();
    change();
  }

  @RepeatedTest(10)
  @Transactional
  void isRolledBackBySpring() {
    sameConnections();
    change();
  }

  @RepeatedTest(10)
  void commitsATransaction() {
    transactions.executeWithoutResult(t -> change());
    sameConnections();
  }
}
