package io.github.ramariadb;

import java.util.Map;
import javax.sql.DataSource;

/** A database of an instance, and how to connect to it. */
public class Schema {
  private final String name;
  private final String host;
  private final int port;
  private final String user;
  private final String password;
  private final String url;
  private final String flavour;
  final Connections connections = new Connections(this);

  Schema(Map<String, Object> json, String flavour) {
    this.name = (String) json.get("name");
    this.host = (String) json.get("host");
    this.port = ((Number) json.get("port")).intValue();
    this.user = (String) json.get("user");
    this.password = (String) json.get("password");
    this.url = (String) json.get("url");
    this.flavour = flavour;
  }

  /** The database's name on the server. */
  public String name() {
    return name;
  }

  /** The address at which the server listens. */
  public String host() {
    return host;
  }

  /** The port at which the server listens. */
  public int port() {
    return port;
  }

  /** The account, which can do anything in this database. */
  public String user() {
    return user;
  }

  /** The account's password. */
  public String password() {
    return password;
  }

  /** {@code mysql://USER:PASSWORD@HOST:PORT/NAME}. */
  public String url() {
    return url;
  }

  /** The URL, with user and password, for the JDBC driver on the class path; the server's own if there are both. */
  public String jdbcUrl() {
    return jdbcUrl(driver());
  }

  /** The URL, with user and password, for a JDBC driver. */
  public String jdbcUrl(Driver driver) {
    return driver.url(host, port, name, user, password);
  }

  /** The JDBC driver on the class path; the server's own if there are both. */
  public Driver driver() {
    return Driver.find(flavour);
  }

  /**
   * Opens a connection at each call, with {@link #driver()}. A reset rolls back on those that are
   * idle, so a transaction that was left open does not cost the connection; where one was ended all
   * the same, its errors say why.
   */
  public DataSource dataSource() {
    return connections.dataSource(null);
  }

  /** The same with a certain driver. */
  public DataSource dataSource(Driver driver) {
    return connections.dataSource(driver);
  }
}
