package io.github.ramariadb.junit;

import io.github.ramariadb.Database;
import io.github.ramariadb.Ramaria;
import io.github.ramariadb.Template;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import javax.sql.DataSource;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives each test a database that is as its template is, in a static field:
 *
 * <pre>{@code
 * @RegisterExtension
 * static RamariaExtension ramaria = RamariaExtension.template("shop").from("shop.sql");
 * }</pre>
 *
 * <p>A class keeps its database from test to test, and has as many as its tests run at the same time. Each is
 * put back when its test is over, after what all extensions do then. A test that fails with
 * {@code -Dramaria.keep=true} or {@code RAMARIA_KEEP=1} keeps its database, and the URL is printed.
 */
public final class RamariaExtension implements BeforeAllCallback, BeforeEachCallback, ParameterResolver {
  private static final String LEASES = "leases";
  private static final String LEASE = "lease";
  private static final String SHARED = "shared";

  /** Null until a test needs it. Never closed: the instance stays up, its connections end with the process. */
  private static Ramaria ramaria;

  private final Template template;
  private final Namespace namespace = Namespace.create(RamariaExtension.class, this);
  private final Shared shared;

  private RamariaExtension(Template template) {
    this.template = template;
    this.shared = new Shared(this::lease);
  }

  /** Names the template; what it is made of follows. */
  public static Builder template(String name) {
    return new Builder(name);
  }

  /** What a template is made of. */
  public static final class Builder {
    private final String name;

    private Builder(String name) {
      this.name = name;
    }

    /** Dumps, or directories of them: files, seen from the working directory or else the class path. */
    public RamariaExtension from(String... dumps) {
      return from(Arrays.stream(dumps).map(Builder::find).toArray(Path[]::new));
    }

    /** Dumps, or directories of them. */
    public RamariaExtension from(Path... dumps) {
      return new RamariaExtension(Template.fromDump(name, dumps));
    }

    /** What a function fills; see {@link Template#build}. */
    public RamariaExtension build(String key, Template.Filler filler) {
      return new RamariaExtension(Template.build(name, key, filler));
    }

    private static Path find(String dump) {
      Path file = Path.of(dump);
      URL resource = Thread.currentThread().getContextClassLoader().getResource(dump);
      if (Files.exists(file) || resource == null || !resource.getProtocol().equals("file")) {
        return file; // and ramaria says that it does not exist
      }
      try {
        return Path.of(resource.toURI());
      } catch (URISyntaxException e) {
        return file;
      }
    }
  }

  /**
   * One database for all tests of this extension until the run ends, for what outlives a test class, such as
   * Spring's application context. From the first call on these tests take turns, so that each
   * still finds it as its template is; ask for it before the first of them begins.
   */
  public Database shared() {
    return shared.database();
  }

  private Database lease() {
    return connect().lease(template);
  }

  /** Connects once for all classes; until that works each test says why it does not. */
  private static synchronized Ramaria connect() {
    if (ramaria == null) {
      ramaria = Ramaria.connect();
    }
    return ramaria;
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    context.getStore(namespace).getOrComputeIfAbsent(LEASES, k -> new Leases(this::lease));
    context.getRoot().getStore(namespace).getOrComputeIfAbsent(SHARED, k -> shared);
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    if (shared.used()) {
      hold(context);
    }
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.findAnnotation(RamariaDatabase.class)
        .filter(a -> a.value().isEmpty() || a.value().equals(template.name())).isPresent();
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    if (context.getTestMethod().isEmpty()) {
      throw new ParameterResolutionException("@RamariaDatabase: a database belongs to one test; ask for it in the test method or in @BeforeEach, "
          + "and put what all tests need into the template");
    }
    Class<?> type = parameter.getParameter().getType();
    Lease lease = hold(context);
    if (type == Database.class) {
      return lease.database();
    }
    if (type == DataSource.class) {
      return lease.database().dataSource();
    }
    if (type == String.class) {
      return lease.database().jdbcUrl();
    }
    if (type == Connection.class) {
      try {
        return lease.connection();
      } catch (SQLException e) {
        throw new ParameterResolutionException("connect to " + lease.database().name() + ": " + e.getMessage(), e);
      }
    }
    throw new ParameterResolutionException("@RamariaDatabase: a parameter cannot be a " + type.getName()
        + ", only a Database, DataSource, Connection or String");
  }

  /** Takes a database for the test, at the first call. */
  private Lease hold(ExtensionContext test) {
    return test.getStore(namespace).getOrComputeIfAbsent(LEASE, k -> {
      if (shared.used()) {
        return shared.hold(test);
      }
      Store store = test.getStore(namespace);
      Leases leases = store.get(LEASES, Leases.class);
      if (leases == null) {
        throw new ExtensionConfigurationException("the field of a RamariaExtension must be static, so that its class can keep a database from test to test");
      }
      return new Lease(leases.take(), test, leases::giveBack, kept -> { });
    }, Lease.class);
  }
}
