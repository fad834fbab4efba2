package io.github.ramariadb;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;

/** A JDBC driver. Each works with both servers, MariaDB and MySQL. */
public enum Driver {
  /** MariaDB Connector/J, version 3. */
  MARIADB("org.mariadb.jdbc.Driver", "jdbc:mariadb:", "sslMode=disable"),
  /** MySQL Connector/J, version 8 or later. */
  MYSQL("com.mysql.cj.jdbc.Driver", "jdbc:mysql:", "sslMode=DISABLED");

  private final String className;
  private final String scheme;
  private final String noTls;

  Driver(String className, String scheme, String noTls) {
    this.className = className;
    this.scheme = scheme;
    this.noTls = noTls;
  }

  /** The name of the driver's class. */
  public String className() {
    return className;
  }

  /**
   * The server is on this machine, so TLS would only cost time; without it MySQL's default way to
   * log in needs the server's public key.
   */
  String url(String host, int port, String database, String user, String password) {
    return scheme + "//" + host + ":" + port + "/" + escape(database)
        + "?user=" + escape(user) + "&password=" + escape(password)
        + "&" + noTls + "&allowPublicKeyRetrieval=true";
  }

  /** The driver on the class path; the server's own if there are both. */
  static Driver find(String flavour) {
    Driver own = flavour.equals("mysql") ? MYSQL : MARIADB;
    Driver other = own == MYSQL ? MARIADB : MYSQL;
    if (own.present()) {
      return own;
    }
    if (other.present()) {
      return other;
    }
    throw RamariaException.local("find a JDBC driver: neither " + own.className + " nor " + other.className
        + " is on the class path\nhint: add org.mariadb.jdbc:mariadb-java-client or com.mysql:mysql-connector-j", null);
  }

  private boolean present() {
    try {
      Class.forName(className); // which also registers it with DriverManager
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private static String escape(String s) {
    return URLEncoder.encode(s, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
