package io.github.ramariadb.spring;

import io.github.ramariadb.Driver;
import io.github.ramariadb.junit.RamariaExtension;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

class SpringMySqlTest extends SpringCase {
  @RegisterExtension
  static RamariaExtension ramaria = RamariaExtension.template("shop").from("shop.sql");

  @DynamicPropertySource
  static void database(DynamicPropertyRegistry registry) {
    registry.add("spring.datasource.url", () -> ramaria.shared().jdbcUrl(Driver.MYSQL));
  }
}
