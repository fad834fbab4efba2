package io.github.ramariadb;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/**
 * What databases are cloned from. This is its description: it is made at the first
 * {@link Ramaria#lease}, by one process if several need it at once, and found ready in later runs.
 */
public final class Template {
  /** Fills an empty database. */
  @FunctionalInterface
  public interface Filler {
    /**
     * Creates tables and rows. Connections that the database handed out are closed afterwards.
     *
     * @throws Exception if it fails; the next caller then tries again
     */
    void fill(Schema database) throws Exception;
  }

  private final String name;
  private final List<Path> dumps;
  private final String key;
  private final Filler filler;

  private Template(String name, List<Path> dumps, String key, Filler filler) {
    this.name = name;
    this.dumps = dumps;
    this.key = key;
    this.filler = filler;
  }

  /** A template with the content of dumps: {@code .sql}, {@code .sql.gz}, {@code .sql.zst}, {@code .sql.xz}, directories of them. */
  public static Template fromDump(String name, Path... dumps) {
    if (dumps.length == 0) {
      throw new IllegalArgumentException("template " + name + ": no dump is named");
    }
    return new Template(name, List.of(dumps), "", null);
  }

  /**
   * A template that a function fills.
   *
   * @param key stands for everything that the content depends on, at most 1024 bytes: with another
   *     key it is filled again; {@link #keyOf} makes one of files
   */
  public static Template build(String name, String key, Filler filler) {
    return new Template(name, List.of(), key, filler);
  }

  /** A key that changes with the names and the content of files, and of all files below directories. */
  public static String keyOf(Path... files) {
    try {
      MessageDigest hash = MessageDigest.getInstance("SHA-256");
      for (Path root : files) {
        try (Stream<Path> below = Files.walk(root)) {
          for (Path file : below.filter(Files::isRegularFile).sorted().toList()) {
            byte[] content = Files.readAllBytes(file);
            // The length keeps two files apart from one with the content of both.
            hash.update((root.relativize(file) + "\0" + content.length + "\0").getBytes(StandardCharsets.UTF_8));
            hash.update(content);
          }
        }
      }
      return HexFormat.of().formatHex(hash.digest());
    } catch (IOException e) {
      throw new UncheckedIOException("hash files of a template", e);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java has SHA-256", e);
    }
  }

  /** The name it was given; that of its database has a hash of the content added. */
  public String name() {
    return name;
  }

  List<Path> dumps() {
    return dumps;
  }

  String key() {
    return key;
  }

  /** Null where the content comes from dumps. */
  Filler filler() {
    return filler;
  }
}
