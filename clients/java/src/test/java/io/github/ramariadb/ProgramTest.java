package io.github.ramariadb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProgramTest {
  @TempDir Path dir;

  private String script(String... lines) throws IOException {
    Path p = dir.resolve("ramaria");
    Files.writeString(p, "#!/bin/sh\n" + String.join("\n", lines) + "\n");
    Files.setPosixFilePermissions(p, PosixFilePermissions.fromString("rwx------"));
    return p.toString();
  }

  @Test
  void usesTheGivenSocket() {
    assertEquals("/x/api.sock", new Program(Map.of("RAMARIA_API", "/x/api.sock", "RAMARIA_BIN", "/nowhere")).where());
  }

  @Test
  void asksWhetherItIsTheOneThatIsChosen() {
    assertEquals("", new Program(Map.of("RAMARIA_SERVER", "mysql")).expected());
    assertEquals("", new Program(Map.of("RAMARIA_API", "/x/api.sock")).expected());
    assertEquals("?server=mysql%3A9.7",
        new Program(Map.of("RAMARIA_API", "/x/api.sock", "RAMARIA_SERVER", "mysql:9.7", "RAMARIA_VOLUME", "shm")).expected());
  }

  @Test
  void startsAnInstance() throws IOException {
    String bin = script(
        "echo \"$@\" >> " + dir.resolve("calls"),
        "[ $1 = up ] && { echo mysql://x; echo talk >&2; }",
        "[ $1 = env ] && { echo \"export MYSQL_HOST='h'\"; echo \"export RAMARIA_API='/it'\\\\''s/api.sock'\"; }",
        "exit 0");
    assertEquals("/it's/api.sock", new Program(Map.of("RAMARIA_BIN", bin)).where());
    new Program(Map.of("RAMARIA_BIN", bin, "RAMARIA_INSTANCE", "mine")).where();
    assertEquals("up tests\nenv tests\nup mine\nenv mine\n", Files.readString(dir.resolve("calls")));
  }

  @Test
  void saysWhatTheProgramSays() throws IOException {
    String bin = script("echo 'error: no room' >&2; echo 'hint: ramaria doctor' >&2; exit 3");
    RamariaException e = assertThrows(RamariaException.class, () -> new Program(Map.of("RAMARIA_BIN", bin)).where());
    assertEquals("run ramaria up: error: no room\nhint: ramaria doctor", e.getMessage());
  }

  @Test
  void saysThatThereIsNoProgram() {
    RamariaException e = assertThrows(RamariaException.class, () -> new Program(Map.of("RAMARIA_BIN", "/nowhere/ramaria")).where());
    assertTrue(e.getMessage().contains("RAMARIA_BIN"), e.getMessage());
  }
}
