package io.github.ramariadb;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The program {@code ramaria}: it starts the instance, and loads dumps. */
final class Program {
  /** How long a command may take, in minutes: a server may have to be fetched, a large dump loaded. */
  private static final long LIMIT_MINUTES = 15;

  private final Map<String, String> environment;
  private final String path;

  Program(Map<String, String> environment) {
    this.environment = environment;
    this.path = variable("RAMARIA_BIN", "ramaria");
  }

  /** The path of the socket of the instance to use, which is started if it has to be, or where it is on another machine. */
  String where() {
    String given = variable("RAMARIA_API", "");
    if (!given.isEmpty()) {
      return given;
    }
    String name = variable("RAMARIA_INSTANCE", "tests");
    run(Map.of(), List.of("up", name)); // safe if several run it at once, and quick if it runs already
    String prefix = "export RAMARIA_API='";
    return run(Map.of(), List.of("env", name)).lines()
        .filter(l -> l.startsWith(prefix) && l.endsWith("'"))
        .map(l -> l.substring(prefix.length(), l.length() - 1).replace("'\\''", "'"))
        .findFirst()
        .orElseThrow(() -> RamariaException.local("find the instance " + name + ": ramaria env does not name its socket", null));
  }

  /**
   * The query by which the instance that RAMARIA_API names says whether it is what the other variables
   * choose, or "". One that {@code up} starts has been compared with them.
   */
  String expected() {
    if (variable("RAMARIA_API", "").isEmpty()) {
      return "";
    }
    StringBuilder query = new StringBuilder();
    for (String key : List.of("instance", "server")) {
      String value = variable("RAMARIA_" + key.toUpperCase(Locale.ROOT), "");
      if (!value.isEmpty()) {
        query.append(query.length() == 0 ? '?' : '&').append(key).append('=').append(Api.escape(value));
      }
    }
    return query.toString();
  }

  /** Makes a template of dumps, unless there is one with their content, and returns its database's name. */
  String addTemplate(Map<String, String> instance, String name, List<Path> dumps) {
    List<String> args = new ArrayList<>(List.of("template", "add", name, "--json"));
    dumps.forEach(d -> args.addAll(List.of("--from", d.toString())));
    try {
      return (String) JSON.std.mapFrom(run(instance, args)).get("name");
    } catch (IOException e) {
      throw RamariaException.local("add template " + name + ": its answer is not JSON: " + e.getMessage(), e);
    }
  }

  /** Returns what it writes to stdout; what it writes to stderr becomes the error's message. */
  private String run(Map<String, String> instance, List<String> args) {
    List<String> command = new ArrayList<>(List.of(path));
    command.addAll(args);
    String what = "run ramaria " + args.get(0);
    // Files and not pipes: the server that is started may hold a pipe open.
    Path out = null;
    Path err = null;
    Process process = null;
    try {
      out = Files.createTempFile("ramaria", ".out");
      err = Files.createTempFile("ramaria", ".err");
      ProcessBuilder builder = new ProcessBuilder(command)
          .redirectInput(new File("/dev/null")).redirectOutput(out.toFile()).redirectError(err.toFile());
      builder.environment().putAll(instance);
      process = builder.start();
      if (!process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES)) {
        throw RamariaException.local(what + ": it takes more than " + LIMIT_MINUTES + " minutes", null);
      }
      if (process.exitValue() != 0) {
        throw RamariaException.local(what + ": " + Files.readString(err, StandardCharsets.UTF_8).strip(), null);
      }
      return Files.readString(out, StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw RamariaException.local(what + ": " + e.getMessage() + "\nhint: RAMARIA_BIN names the program, if it is not in PATH", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw RamariaException.local(what + ": interrupted", e);
    } finally {
      if (process != null) {
        process.destroy();
      }
      delete(out);
      delete(err);
    }
  }

  private static void delete(Path file) {
    if (file != null && !file.toFile().delete()) {
      file.toFile().deleteOnExit();
    }
  }

  private String variable(String name, String otherwise) {
    String value = environment.get(name);
    return value == null || value.isEmpty() ? otherwise : value;
  }
}
