package io.github.ramariadb;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.LinkedBlockingDeque;

/**
 * Calls the HTTP API of an instance. Connections are kept between calls, at most as many as calls
 * were made at once and {@link #MAX_IDLE}.
 */
final class Api implements AutoCloseable {
  private static final int MAX_IDLE = 16;
  /** How much of an answer that is not the API's is shown, in characters. */
  private static final int MAX_FOREIGN = 200;

  /** The path of the socket, or where the instance is on another machine. */
  private final String where;
  /** Null for a socket. */
  private final Remote remote;
  private final BlockingDeque<HttpConnection> idle = new LinkedBlockingDeque<>(MAX_IDLE);

  /** {@code token} is for an instance on another machine; null is that of the environment. */
  Api(String where, String token) {
    this.where = where;
    this.remote = where.contains("://") ? new Remote(where, token) : null;
  }

  Api(Path socket) {
    this(socket.toString(), null);
  }

  String where() {
    return where;
  }

  /** The variables by which the program finds the same instance. */
  Map<String, String> environment() {
    return remote == null ? Map.of("RAMARIA_API", where) : Map.of("RAMARIA_API", where, "RAMARIA_TOKEN", remote.token());
  }

  private HttpConnection open() throws IOException {
    return remote == null ? HttpConnection.open(Path.of(where)) : HttpConnection.open(remote);
  }

  /**
   * Sends {@code body} as JSON, if it is not null, and returns the answer's JSON, empty if there is
   * none. It takes as long as the instance takes; an interrupt of the thread ends the call, and what
   * the instance was doing for it.
   */
  Map<String, Object> call(String method, String path, Map<String, Object> body) {
    try {
      byte[] json = body == null ? null : JSON.std.asBytes(body);
      HttpConnection connection = take();
      HttpConnection.Answer answer;
      try {
        answer = connection.exchange(method, path, json);
      } catch (HttpConnection.NotReadException e) {
        // The instance closed a connection that it had kept, in this very moment.
        connection = open();
        answer = connection.exchange(method, path, json);
      }
      if (!answer.last() && idle.offerFirst(connection)) {
        connection = null;
      }
      if (connection != null) {
        connection.close();
      }
      return read(answer);
    } catch (IOException e) {
      String hint = remote == null ? "ramaria ls shows what runs; ramaria up starts it" : Remote.HINT;
      throw RamariaException.local("ask the instance at " + where + ": " + e.getMessage() + "\nhint: " + hint, e);
    }
  }

  private HttpConnection take() throws IOException {
    for (HttpConnection c = idle.pollFirst(); c != null; c = idle.pollFirst()) {
      if (c.quiet()) {
        return c;
      }
      c.close();
    }
    return open();
  }

  private static Map<String, Object> read(HttpConnection.Answer answer) throws IOException {
    if (answer.status() < 300) {
      return answer.body().length == 0 ? Map.of() : JSON.std.mapFrom(answer.body());
    }
    String text = new String(answer.body(), StandardCharsets.UTF_8);
    try {
      if (JSON.std.mapFrom(text).get("error") instanceof Map<?, ?> error && error.get("code") instanceof String code) {
        Object hint = error.get("hint");
        throw new RamariaException(code, String.valueOf(error.get("message")), hint == null ? "" : hint.toString(), null);
      }
    } catch (IOException e) {
      // Something else listens there; what it says is shown below.
    }
    throw new IOException("it answers " + answer.status() + ", and no reason: "
        + text.substring(0, Math.min(text.length(), MAX_FOREIGN)));
  }

  @Override
  public void close() {
    for (HttpConnection c = idle.pollFirst(); c != null; c = idle.pollFirst()) {
      c.close();
    }
  }

  /** Escapes a part of a path. */
  static String escape(String name) {
    return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
