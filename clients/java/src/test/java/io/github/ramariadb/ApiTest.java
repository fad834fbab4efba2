package io.github.ramariadb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ApiTest {
  private static final String EMPTY = FakeInstance.answer("200 OK", "{}");

  @Test
  void keepsItsConnection() throws IOException {
    try (FakeInstance fake = new FakeInstance(EMPTY, "HTTP/1.1 204 No Content\r\n\r\n", EMPTY); Api api = new Api(fake.socket)) {
      api.call("POST", "/v1/databases", Map.of("template", "shöp"));
      api.call("DELETE", "/v1/databases/" + Api.escape("a b"), null);
      api.call("GET", "/v1/status", null);
      assertEquals(List.of("POST /v1/databases {\"template\":\"shöp\"}", "DELETE /v1/databases/a%20b", "GET /v1/status"), fake.requests);
      assertEquals(1, fake.connections.size());
    }
  }

  @Test
  void opensAnotherWhereTheInstanceClosedIt() throws IOException {
    try (FakeInstance fake = new FakeInstance(EMPTY, EMPTY, EMPTY.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"), EMPTY); Api api = new Api(fake.socket)) {
      api.call("GET", "/v1/status", null);
      fake.connections.get(0).close();
      api.call("GET", "/v1/status", null);
      api.call("GET", "/v1/status", null);
      api.call("GET", "/v1/status", null);
      assertEquals(3, fake.connections.size());
    }
  }

  @Test
  void readsChunks() throws IOException {
    String chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"name\"\r\n5;x=y\r\n:\"a\"}\r\n0\r\nTrailer: t\r\n\r\n";
    try (FakeInstance fake = new FakeInstance(chunked, EMPTY); Api api = new Api(fake.socket)) {
      assertEquals(Map.of("name", "a"), api.call("GET", "/v1/status", null));
      assertEquals(Map.of(), api.call("GET", "/v1/status", null));
      assertEquals(1, fake.connections.size());
    }
  }

  @Test
  void saysWhatTheInstanceSays() throws IOException {
    String full = FakeInstance.answer("503 Service Unavailable", "{\"error\":{\"code\":\"full\",\"message\":\"64 databases\",\"hint\":\"ramaria db ls\"}}");
    try (FakeInstance fake = new FakeInstance(full, EMPTY); Api api = new Api(fake.socket)) {
      RamariaException e = assertThrows(RamariaException.class, () -> api.call("POST", "/v1/databases", Map.of()));
      assertEquals("full", e.code());
      assertEquals("64 databases\nhint: ramaria db ls", e.getMessage());
      api.call("GET", "/v1/status", null);
      assertEquals(1, fake.connections.size());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "SSH-2.0-x\r\n",
    "HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops", "HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n{}",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{\"a", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"})
  void refusesWhatIsNotTheApi(String answer) throws IOException {
    try (FakeInstance fake = new FakeInstance(answer); Api api = new Api(fake.socket)) {
      RamariaException e = assertThrows(RamariaException.class, () -> api.call("GET", "/v1/status", null));
      assertTrue(e.getMessage().startsWith("ask the instance at " + fake.socket + ": "), e.getMessage());
    }
  }

  @Test
  void saysThatThereIsNoInstance() {
    RamariaException e = assertThrows(RamariaException.class, () -> Ramaria.connect(Path.of("/nowhere/api.sock")));
    assertEquals("no_server", e.code());
    assertTrue(e.getMessage().contains("hint: ramaria ls"), e.getMessage());
  }

  @Test
  void makesAGoneTemplateAgain() throws IOException {
    String ready = FakeInstance.answer("200 OK", "{\"state\":\"ready\",\"template\":{\"name\":\"shop_1\"}}");
    String gone = FakeInstance.answer("404 Not Found", "{\"error\":{\"code\":\"not_found\",\"message\":\"no such template\"}}");
    String made = FakeInstance.answer("201 Created", "{\"name\":\"shop_1_1\",\"host\":\"127.0.0.1\",\"port\":1,\"user\":\"u\",\"password\":\"p&\",\"url\":\"mysql://\"}");
    try (FakeInstance fake = new FakeInstance(FakeInstance.STATUS, ready, gone, ready, made); Ramaria ramaria = Ramaria.connect(fake.socket)) {
      Database d = ramaria.lease(Template.build("shop", "k", db -> { }));
      assertEquals("jdbc:mariadb://127.0.0.1:1/shop_1_1?user=u&password=p%26&sslMode=disable&allowPublicKeyRetrieval=true", d.jdbcUrl());
      assertEquals(5, fake.requests.size());
    }
  }
}
