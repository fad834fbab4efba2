package io.github.ramariadb;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;

/** Listens on a socket and gives canned answers, for what a real instance cannot be made to do. */
final class FakeInstance implements AutoCloseable {
  static final String STATUS = answer("200 OK", "{\"server\":{\"flavour\":\"mariadb\"},\"new\":[{}]}");

  final Path socket;
  /** The requests' first lines, and their bodies. */
  final List<String> requests = new CopyOnWriteArrayList<>();
  final List<SocketChannel> connections = new CopyOnWriteArrayList<>();
  private final Queue<String> answers = new ConcurrentLinkedQueue<>();
  private final Path dir;
  private final ServerSocketChannel listener;

  FakeInstance(String... answers) throws IOException {
    dir = Files.createTempDirectory("ramaria");
    socket = dir.resolve("api.sock");
    listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(UnixDomainSocketAddress.of(socket));
    this.answers.addAll(List.of(answers));
    start(this::accept);
  }

  static String answer(String status, String json) {
    return "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\nContent-Length: " + json.length() + "\r\n\r\n" + json;
  }

  private static void start(Runnable r) {
    Thread t = new Thread(r);
    t.setDaemon(true);
    t.start();
  }

  private void accept() {
    try {
      while (true) {
        SocketChannel c = listener.accept();
        connections.add(c);
        start(() -> serve(c));
      }
    } catch (IOException e) {
      // closed
    }
  }

  private void serve(SocketChannel c) {
    try (c) {
      BufferedReader in = new BufferedReader(new InputStreamReader(Channels.newInputStream(c), StandardCharsets.ISO_8859_1));
      for (String request = in.readLine(); request != null; request = in.readLine()) {
        int length = 0;
        for (String h = in.readLine(); !h.isEmpty(); h = in.readLine()) {
          if (h.startsWith("Content-Length: ")) {
            length = Integer.parseInt(h.substring(16));
          }
        }
        char[] body = new char[length];
        for (int n = 0; n < length; ) {
          n += in.read(body, n, length - n);
        }
        byte[] bytes = new String(body).getBytes(StandardCharsets.ISO_8859_1); // a character was a byte
        requests.add((request.replace(" HTTP/1.1", "") + " " + new String(bytes, StandardCharsets.UTF_8)).strip());
        c.write(ByteBuffer.wrap(answers.remove().getBytes(StandardCharsets.UTF_8)));
      }
    } catch (IOException e) {
      // The client, or a test, has closed it.
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (SocketChannel c : connections) {
      c.close();
    }
    Files.deleteIfExists(socket);
    Files.delete(dir);
  }
}
