package shop;

import io.github.ramariadb.junit.RamariaDatabase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * The same tests without Ramaria, to compare with. All have one database, that of the variables MYSQL_. ISOLATION says
 * how it is put back before each of them: truncate, reload, or none, with which they fail.
 */
class Plain implements BeforeAllCallback, BeforeEachCallback, ParameterResolver {
  private static final String ISOLATION = System.getenv("ISOLATION");
  private static Connection db;
  private static List<String> dump;

  /** The extension that these tests use. */
  static Extension or(Extension ramaria) {
    return ISOLATION == null ? ramaria : new Plain();
  }

  /** Says to a benchmark what a test found; it counts what differs from test to test. */
  static void look(Connection db) throws SQLException, IOException {
    String path = System.getenv("RAMARIA_LEAKS");
    if (path == null) {
      return;
    }
    try (var s = db.createStatement(); var r = s.executeQuery(Files.readString(Path.of("../look.sql")))) {
      r.next();
      Files.writeString(Path.of(path), r.getString(1) + "\n", StandardOpenOption.APPEND);
    }
  }

  @Override
  public void beforeAll(ExtensionContext context) throws SQLException, IOException {
    dump = List.of(Files.readString(Path.of("../shop.sql")).split(";\n"));
    String server = System.getenv("MYSQL_HOST") + ":" + System.getenv("MYSQL_TCP_PORT");
    String url = "jdbc:mariadb://" + server + "/" + System.getenv("MYSQL_DATABASE") + "?sslMode=disable&allowPublicKeyRetrieval=true";
    db = DriverManager.getConnection(url, System.getenv("MYSQL_USER"), System.getenv("MYSQL_PWD"));
    reload();
  }

  @Override
  public void beforeEach(ExtensionContext context) throws SQLException {
    switch (ISOLATION) {
      case "truncate" -> truncate();
      case "reload" -> reload();
      case "none" -> { }
      default -> throw new IllegalArgumentException("ISOLATION is truncate, reload or none");
    }
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.isAnnotated(RamariaDatabase.class);
  }

  @Override
  public Connection resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return db;
  }

  private static void truncate() throws SQLException {
    List<String> statements = new ArrayList<>();
    try (var s = db.createStatement(); var r = s.executeQuery("SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")) {
      while (r.next()) {
        statements.add("TRUNCATE TABLE " + r.getString(1));
      }
    }
    dump.stream().filter(statement -> statement.startsWith("INSERT")).forEach(statements::add);
    run(statements);
  }

  private static void reload() throws SQLException {
    String name = System.getenv("MYSQL_DATABASE");
    List<String> again = List.of("DROP DATABASE " + name, "CREATE DATABASE " + name, "USE " + name);
    run(Stream.concat(again.stream(), dump.stream()).toList());
  }

  private static void run(List<String> statements) throws SQLException {
    try (var s = db.createStatement()) {
      for (String statement : statements) {
        s.execute(statement);
      }
    }
  }
}
