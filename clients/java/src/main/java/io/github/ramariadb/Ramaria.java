package io.github.ramariadb;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A running Ramaria instance. May be used by several threads at once. */
public final class Ramaria implements AutoCloseable {
  private final Api api;
  private final Program program;
  private final String flavour;
  /** The names of the databases of templates that are ready. */
  private final Map<Template, String> ready = new ConcurrentHashMap<>();

  private Ramaria(Api api, Program program, String expected) {
    this.api = api;
    this.program = program;
    Map<String, Object> status = api.call("GET", "/v1/status" + expected, null);
    this.flavour = status.get("server") instanceof Map<?, ?> s ? String.valueOf(s.get("flavour")) : "";
  }

  /**
   * Finds the instance that is named by {@code RAMARIA_API}, by the path of its socket or, on another
   * machine, as {@link #connect(String, String)} has it, and otherwise starts one, named
   * by {@code RAMARIA_INSTANCE} or {@code tests}, with the program {@code RAMARIA_BIN} or
   * {@code ramaria}. The instance stays up, so that the next run finds its templates ready.
   *
   * @throws RamariaException if no instance runs and none can be started, or, with the code {@code other},
   *     if it is another than {@code RAMARIA_INSTANCE} and {@code RAMARIA_SERVER} choose
   */
  public static Ramaria connect() {
    Program program = new Program(System.getenv());
    return new Ramaria(new Api(program.where(), null), program, program.expected());
  }

  /** Uses the instance whose socket is at a path. */
  public static Ramaria connect(Path socket) {
    return new Ramaria(new Api(socket), new Program(System.getenv()), "");
  }

  /**
   * Uses an instance on another machine, at {@code https://HOST:PORT#sha256=FINGERPRINT}, with a token; null is
   * that of {@code RAMARIA_TOKEN}, or of the file {@code RAMARIA_TOKEN_FILE}.
   */
  public static Ramaria connect(String address, String token) {
    return new Ramaria(new Api(address, token), new Program(System.getenv()), "");
  }

  /**
   * Gives a database that is a clone of the template, which is made first if it is new. Where the
   * pool is full it waits for its turn, a minute at most.
   *
   * @throws RamariaException for example with the code {@code full}
   */
  public Database lease(Template template) {
    String name = prepare(template);
    try {
      return lease(name);
    } catch (RamariaException e) {
      if (!e.code().equals("not_found")) {
        throw e;
      }
      ready.remove(template, name); // it was removed, or the instance was made again
      return lease(prepare(template));
    }
  }

  private Database lease(String template) {
    return new Database(api, api.call("POST", "/v1/databases", Map.of("template", template)), flavour);
  }

  /** Makes the template unless it is ready, and returns the name of its database. */
  public String prepare(Template template) {
    // One thread of this process prepares; other processes are the instance's business.
    synchronized (template) {
      String name = ready.get(template);
      if (name == null) {
        name = template.filler() == null
            ? program.addTemplate(api.environment(), template.name(), template.dumps())
            : build(template);
        ready.put(template, name);
      }
      return name;
    }
  }

  private String build(Template template) {
    Map<String, Object> answer = api.call("POST", "/v1/templates", Map.of("name", template.name(), "key", template.key()));
    String name = (String) object(answer, "template").get("name");
    if (!answer.get("state").equals("build")) {
      return name;
    }
    String path = "/v1/templates/" + Api.escape(name);
    Schema empty = new Schema(object(answer, "database"), flavour);
    try {
      try {
        template.filler().fill(empty);
      } finally {
        empty.connections.close();
      }
      api.call("PUT", path, null);
      return name;
    } catch (Exception e) {
      RamariaException failed = e instanceof RamariaException r ? r : new RamariaException(
          "build", "fill template " + template.name() + ": " + e.getMessage(), "", e);
      try {
        api.call("DELETE", path, null); // so that the next one may try
      } catch (RamariaException too) {
        failed.addSuppressed(too);
      }
      throw failed;
    }
  }

  /** The path of the instance's socket. Of an instance on another machine there is none: use {@link #address()}. */
  public Path socket() {
    if (api.where().contains("://")) {
      throw new IllegalStateException("the instance is on another machine, at " + api.where());
    }
    return Path.of(api.where());
  }

  /** The path of the instance's socket, or where it is on another machine. */
  public String address() {
    return api.where();
  }

  /** Closes the connections to the instance, which stays up. Databases live on. */
  @Override
  public void close() {
    api.close();
  }

  private static Map<String, Object> object(Map<String, Object> json, String field) {
    Map<String, Object> object = new HashMap<>();
    ((Map<?, ?>) json.get(field)).forEach((k, v) -> object.put((String) k, v));
    return object;
  }
}
