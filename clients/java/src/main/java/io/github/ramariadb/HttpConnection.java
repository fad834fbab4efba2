package io.github.ramariadb;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.util.Locale;
import javax.net.ssl.SSLSocket;
import jdk.net.ExtendedSocketOptions;

/**
 * One connection to the API: as much of HTTP/1.1 as a Go server speaks. {@code java.net.http} knows
 * no Unix sockets, and no certificates that nobody has signed. One exchange at a time; after an
 * exception it is of no more use.
 */
final class HttpConnection implements AutoCloseable {
  /** Limits on what is read, in bytes; a list of ten thousand databases takes less. */
  private static final int MAX_LINE = 8 << 10;
  private static final int MAX_HEADERS = 100;
  private static final int MAX_BODY = 4 << 20;

  /** An answer; {@code last} says that the server closes the connection after it. */
  record Answer(int status, byte[] body, boolean last) {}

  private final SocketChannel channel;
  private final InputStream in;
  private final OutputStream out;
  /** The headers of every request. */
  private final String headers;
  /** Says that a reset tells that a request was not read: of TCP it does not. */
  private final boolean resetTells;

  private HttpConnection(SocketChannel channel, InputStream in, OutputStream out, String headers, boolean resetTells) {
    this.channel = channel;
    this.in = new BufferedInputStream(in);
    this.out = out;
    this.headers = headers;
    this.resetTells = resetTells;
  }

  static HttpConnection open(Path socket) throws IOException {
    SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket));
    try {
      checkPeer(channel);
      return new HttpConnection(channel, Channels.newInputStream(channel), Channels.newOutputStream(channel), "Host: ramaria\r\n", true);
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  /** Connects to another machine, which has shown the right certificate before anything is sent. */
  static HttpConnection open(Remote remote) throws IOException {
    SocketChannel channel = SocketChannel.open();
    try {
      SSLSocket tls = remote.connect(channel);
      return new HttpConnection(channel, tls.getInputStream(), tls.getOutputStream(), remote.headers(), false);
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  /**
   * Refuses a process of another user: a socket may lie in /tmp, and its maker would learn
   * what is asked and answer with a database of their own.
   */
  private static void checkPeer(SocketChannel channel) throws IOException {
    UserPrincipal peer = channel.getOption(ExtendedSocketOptions.SO_PEERCRED).user();
    UserPrincipal me = Files.getOwner(Path.of("/proc/self"));
    if (!peer.getName().equals(me.getName()) && !peer.getName().equals("root")) {
      throw RamariaException.local("ask an instance: its socket is listened on by user " + peer.getName() + ", who is neither you, " + me.getName() + ", nor root", null);
    }
  }

  /** Says that nothing was sent and the other end is open, so that the connection can be used again. */
  boolean quiet() {
    try {
      channel.configureBlocking(false);
      int n = channel.read(ByteBuffer.allocate(1));
      channel.configureBlocking(true);
      return n == 0 && in.available() == 0;
    } catch (IOException e) {
      return false;
    }
  }

  /** Says that the other end closed the connection without having read the request. */
  static final class NotReadException extends IOException {
    private static final long serialVersionUID = 1;

    NotReadException(IOException cause) {
      super(cause.getMessage(), cause);
    }
  }

  /** Sends a request and returns its answer. After an exception the connection is closed. */
  Answer exchange(String method, String path, byte[] body) throws IOException {
    try {
      send(method, path, body);
      return answer();
    } catch (IOException e) {
      close();
      throw e;
    }
  }

  private void send(String method, String path, byte[] body) throws IOException {
    ByteArrayOutputStream request = new ByteArrayOutputStream();
    String type = body == null ? "" : "Content-Type: application/json\r\n";
    int length = body == null ? 0 : body.length;
    request.writeBytes((method + " " + path + " HTTP/1.1\r\n" + headers + type
        + "Content-Length: " + length + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
    if (body != null) {
      request.writeBytes(body);
    }
    try {
      out.write(request.toByteArray());
      out.flush();
      // A reset is what a Unix socket says that was closed with something unread in it; after
      // an end of the stream it is unknown what was read.
      in.mark(1);
      in.read();
      in.reset();
    } catch (ClosedChannelException e) { // the thread was interrupted
      throw e;
    } catch (IOException e) {
      throw resetTells ? new NotReadException(e) : e;
    }
  }

  private Answer answer() throws IOException {
    String[] status = line().split(" ", 3);
    if (status.length < 2 || !status[0].startsWith("HTTP/1.")) {
      throw new IOException("it does not speak HTTP");
    }
    int code = number(status[1], 10);
    long length = -1;
    boolean chunked = false;
    boolean last = false;
    int headers = 0;
    for (String h = line(); !h.isEmpty(); h = line()) {
      if (++headers > MAX_HEADERS) {
        throw new IOException("its answer has too many headers");
      }
      String name = h.substring(0, Math.max(0, h.indexOf(':'))).toLowerCase(Locale.ROOT);
      String value = h.substring(h.indexOf(':') + 1).trim();
      switch (name) {
        case "content-length" -> length = number(value, 10);
        case "transfer-encoding" -> chunked = value.equalsIgnoreCase("chunked");
        case "connection" -> last = value.equalsIgnoreCase("close");
        default -> { }
      }
    }
    if (code == 204) {
      return new Answer(code, new byte[0], last);
    }
    if (chunked) {
      return new Answer(code, chunks(), last);
    }
    if (length >= 0) {
      return new Answer(code, read((int) length), last);
    }
    byte[] rest = in.readNBytes(MAX_BODY); // as long as the connection lasts
    return new Answer(code, rest, true);
  }

  private byte[] chunks() throws IOException {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    for (int n = chunkSize(); n > 0; n = chunkSize()) {
      if (body.size() + n > MAX_BODY) {
        throw new IOException("its answer is too large");
      }
      body.writeBytes(read(n));
      line();
    }
    while (!line().isEmpty()) {
      // trailers, which say nothing here
    }
    return body.toByteArray();
  }

  private int chunkSize() throws IOException {
    return number(line().split(";", 2)[0].trim(), 16);
  }

  private byte[] read(int length) throws IOException {
    byte[] b = in.readNBytes(length);
    if (b.length < length) {
      throw new EOFException("its answer was cut off");
    }
    return b;
  }

  private String line() throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int b = in.read(); b != '\n'; b = in.read()) {
      if (b < 0) {
        throw new EOFException("it hung up");
      }
      if (line.size() == MAX_LINE) {
        throw new IOException("a line of its answer is too long");
      }
      line.write(b);
    }
    return line.toString(StandardCharsets.UTF_8).stripTrailing();
  }

  private static int number(String s, int radix) throws IOException {
    try {
      int n = Integer.parseInt(s, radix);
      if (n >= 0 && n <= MAX_BODY) {
        return n;
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw new IOException("its answer has a bad number: " + s);
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      // Nothing can be waiting to be written.
    }
  }
}
