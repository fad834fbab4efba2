package io.github.ramariadb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.github.ramariadb.junit.RamariaDatabase;
import io.github.ramariadb.junit.RamariaExtension;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.extension.RegisterExtension;

class ShopTest {
  @RegisterExtension
  static RamariaExtension ramaria = RamariaExtension.template("shop").from("shop.sql");

  @RepeatedTest(2)
  void addsAnItem(@RamariaDatabase Connection db) throws SQLException {
    db.createStatement().execute("INSERT INTO item (name, price) VALUES ('eraser', 50)");
    ResultSet r = db.createStatement().executeQuery("SELECT COUNT(*), MAX(id) FROM item");
    r.next();
    assertEquals(4, r.getInt(1)); // the second time too: the first eraser is gone,
    assertEquals(4, r.getInt(2)); // and so is the number that it had
  }
}
