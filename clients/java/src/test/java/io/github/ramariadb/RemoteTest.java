package io.github.ramariadb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RemoteTest {
  private static final String PRINT = "ab".repeat(32);
  private static final String NAME = "java-remote-" + ProcessHandle.current().pid();
  private static String where;
  private static String token;

  private static String ramaria(String... args) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(System.getenv("RAMARIA_BIN")));
    command.addAll(List.of(args));
    Process p = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    String out = new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, p.waitFor(), () -> String.join(" ", args) + ": " + out);
    return out;
  }

  @BeforeAll
  static void up() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    ramaria("up", NAME, "--database", "shop", "--api-listen", "127.0.0.1:" + port);
    ramaria("template", "add", "shop", "-i", NAME);
    Matcher m = Pattern.compile("RAMARIA_API='(.*)'\n.*RAMARIA_TOKEN='(.*)'").matcher(ramaria("env", NAME, "--format", "remote"));
    assertTrue(m.find());
    where = m.group(1);
    token = m.group(2);
  }

  @AfterAll
  static void down() throws Exception {
    ramaria("down", NAME, "--rm");
  }

  @Test
  void leasesADatabase() throws Exception {
    try (Api api = new Api(where, token)) {
      String flavour = String.valueOf(((Map<?, ?>) api.call("GET", "/v1/status", null).get("server")).get("flavour"));
      Database d = new Database(api, api.call("POST", "/v1/databases", Map.of("template", "shop")), flavour);
      assertEquals("127.0.0.1", d.host());
      try (Connection c = d.dataSource().getConnection(); ResultSet r = c.createStatement().executeQuery("SELECT DATABASE()")) {
        assertTrue(r.next());
        assertEquals(d.name(), r.getString(1));
      }
      api.call("DELETE", "/v1/databases/" + d.name(), null);
      RamariaException e = assertThrows(RamariaException.class, () -> api.call("GET", "/v1/pool", null));
      assertEquals("forbidden", e.code());
    }
    try (Ramaria r = Ramaria.connect(where, token)) {
      assertEquals(where, r.address());
      assertThrows(IllegalStateException.class, r::socket);
    }
  }

  @Test
  void refusesAWrongTokenAndAnotherFingerprint() {
    RamariaException wrong = assertThrows(RamariaException.class, () -> Ramaria.connect(where, "WRONG"));
    assertEquals("unauthorized", wrong.code());
    String other = where.substring(0, where.length() - 64) + PRINT;
    RamariaException e = assertThrows(RamariaException.class, () -> Ramaria.connect(other, token));
    assertTrue(e.getMessage().contains("another fingerprint"), e.getMessage());
    assertFalse(e.getMessage().contains(token), e.getMessage());
  }

  @Test
  void saysNothingWithoutTls() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      CompletableFuture<String> got = CompletableFuture.supplyAsync(() -> {
        try (Socket s = server.accept()) {
          byte[] b = new byte[4096];
          int n = s.getInputStream().read(b);
          s.getOutputStream().write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".getBytes(StandardCharsets.US_ASCII));
          return new String(b, 0, Math.max(n, 0), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
          throw new IllegalStateException(e);
        }
      });
      String address = "https://127.0.0.1:" + server.getLocalPort() + "#sha256=" + PRINT;
      RamariaException e = assertThrows(RamariaException.class, () -> Ramaria.connect(address, "SESAME"));
      assertEquals("no_server", e.code());
      String text = got.get();
      assertFalse(text.isEmpty() || text.contains("SESAME") || text.contains("GET"), text);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "http://db1:1#sha256=, t, only https", "https://db1:1#sha256=x, t, fingerprint is missing", "https://db1#sha256=, t, it is not https://HOST:PORT",
    "https://a@db1:1#sha256=, t, it is not https://HOST:PORT", "https://db1:1/x#sha256=, t, it is not https://HOST:PORT",
    "https://db1:1#sha256=, '', token is missing", "https://db1:1#sha256=, 'a b', or is not one"})
  void refuses(String address, String shown, String why) {
    RamariaException e = assertThrows(RamariaException.class, () -> new Remote(address + PRINT, shown));
    assertTrue(e.getMessage().contains(why), e.getMessage());
  }

  @Test
  void readsTheToken(@TempDir Path dir) throws IOException {
    Path file = dir.resolve("token");
    Files.writeString(file, "T\n");
    assertEquals("T\n", Remote.tokenOf(Map.of("RAMARIA_TOKEN_FILE", file.toString())));
    assertEquals("U", Remote.tokenOf(Map.of("RAMARIA_TOKEN_FILE", file.toString(), "RAMARIA_TOKEN", "U")));
    assertEquals("", Remote.tokenOf(Map.of()));
  }
}
