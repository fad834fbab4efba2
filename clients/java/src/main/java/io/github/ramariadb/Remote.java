package io.github.ramariadb;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.HexFormat;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * An instance on another machine: where it is, {@code https://HOST:PORT#sha256=FINGERPRINT}, and the token. It is
 * known by the fingerprint of its certificate, which nobody has signed.
 */
final class Remote {
  static final String HINT = "ramaria env --format remote, on the instance's machine, has the right RAMARIA_API and RAMARIA_TOKEN";

  /** How long a connection may take, in milliseconds. A call takes as long as the instance takes. */
  private static final int CONNECT_MILLIS = 15_000;

  private static final Pattern FINGERPRINT = Pattern.compile("sha256=([0-9A-Fa-f]{64})");

  private final String host;
  private final int port;
  private final byte[] fingerprint;
  private final String token;

  Remote(String where, String token) {
    URI uri;
    try {
      uri = new URI(where);
    } catch (URISyntaxException e) {
      throw refuse("RAMARIA_API is not a URL"); // without what it says: somebody may have put a password there
    }
    if (!"https".equals(uri.getScheme())) {
      throw refuse(uri.getScheme() + ": others on the way could read the token: only https is spoken");
    }
    boolean bare = uri.getPath() == null || uri.getPath().isEmpty() || uri.getPath().equals("/");
    if (uri.getHost() == null || uri.getPort() < 1 || uri.getUserInfo() != null || uri.getQuery() != null || !bare) {
      throw refuse("it is not https://HOST:PORT#sha256=FINGERPRINT");
    }
    Matcher known = FINGERPRINT.matcher(uri.getFragment() == null ? "" : uri.getFragment());
    if (!known.matches()) {
      throw refuse("the fingerprint is missing by which it is known, #sha256= and 64 hexadecimal digits");
    }
    this.host = uri.getHost().replaceAll("^\\[|\\]$", "");
    this.port = uri.getPort();
    this.fingerprint = HexFormat.of().parseHex(known.group(1));
    this.token = (token == null ? tokenOf(System.getenv()) : token).strip();
    if (!this.token.matches("[!-~]+")) {
      throw refuse("the token is missing, or is not one: RAMARIA_TOKEN, or the file RAMARIA_TOKEN_FILE");
    }
  }

  private static RamariaException refuse(String why) {
    return RamariaException.local("find the instance: " + why + "\nhint: " + HINT, null);
  }

  static String tokenOf(Map<String, String> environment) {
    String token = environment.getOrDefault("RAMARIA_TOKEN", "");
    String path = environment.getOrDefault("RAMARIA_TOKEN_FILE", "");
    if (!token.isEmpty() || path.isEmpty()) {
      return token;
    }
    try {
      return Files.readString(Path.of(path));
    } catch (IOException e) {
      throw RamariaException.local("find the instance: read token: " + e.getMessage(), e);
    }
  }

  String token() {
    return token;
  }

  /** The headers of every request. */
  String headers() {
    String name = host.contains(":") ? "[" + host + "]" : host;
    return "Host: " + name + ":" + port + "\r\nAuthorization: Bearer " + token + "\r\n";
  }

  /** Connects a channel, and returns when the other end has shown the right certificate. */
  SSLSocket connect(SocketChannel channel) throws IOException {
    Socket plain = channel.socket();
    plain.connect(new InetSocketAddress(host, port), CONNECT_MILLIS);
    try {
      SSLContext context = SSLContext.getInstance("TLSv1.3");
      context.init(null, new TrustManager[] {new Pinned()}, null);
      SSLSocket tls = (SSLSocket) context.getSocketFactory().createSocket(plain, host, port, true);
      tls.setEnabledProtocols(new String[] {"TLSv1.3"});
      tls.setSoTimeout(CONNECT_MILLIS);
      tls.startHandshake();
      tls.setSoTimeout(0);
      return tls;
    } catch (GeneralSecurityException e) {
      throw new IOException("TLS 1.3 cannot be spoken here: " + e.getMessage(), e);
    }
  }

  /** Trusts the certificate with the fingerprint, and no other. */
  private final class Pinned extends X509ExtendedTrustManager {
    private void check(X509Certificate[] chain) throws CertificateException {
      byte[] shown;
      try {
        shown = MessageDigest.getInstance("SHA-256").digest(chain[0].getEncoded());
      } catch (GeneralSecurityException e) {
        throw new CertificateException(e);
      }
      if (!MessageDigest.isEqual(shown, fingerprint)) {
        throw new CertificateException("its certificate has another fingerprint: it is another instance, or somebody is between it and you");
      }
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
      check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
      check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
      check(chain);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
      throw new CertificateException("clients show none");
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
      checkClientTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
      checkClientTrusted(chain, type);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
