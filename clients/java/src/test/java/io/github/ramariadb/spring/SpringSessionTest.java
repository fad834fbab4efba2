package io.github.ramariadb.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.ramariadb.junit.RamariaExtension;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** Without a pool, as the README has it, nothing of a session passes on; each statement has a connection of its own. */
@SpringBootTest(classes = SpringCase.Application.class)
class SpringSessionTest {
  @RegisterExtension
  static RamariaExtension ramaria = RamariaExtension.template("shop").from("shop.sql");

  @DynamicPropertySource
  static void database(DynamicPropertyRegistry registry) {
    registry.add("spring.datasource.url", () -> ramaria.shared().jdbcUrl());
    registry.add("spring.datasource.type", () -> "org.springframework.jdbc.datasource.SimpleDriverDataSource");
  }

  @Autowired private JdbcTemplate jdbc;

  @RepeatedTest(2)
  void leavesNothing() {
    assertEquals("none 3 on", jdbc.queryForObject("SELECT CONCAT(IFNULL(@x, 'none'), ' ', (SELECT COUNT(*) FROM item), ' ', IF(@@foreign_key_checks, 'on', 'off'))", String.class));
    jdbc.execute("SET @x = 1, foreign_key_checks = 0");
    jdbc.execute("CREATE TEMPORARY TABLE item (a INT)");
  }
}
