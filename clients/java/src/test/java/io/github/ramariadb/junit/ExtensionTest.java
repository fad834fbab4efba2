package io.github.ramariadb.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/** Runs the classes of {@link Samples} as a build would, and looks at what they saw. */
class ExtensionTest {
  private static TestExecutionSummary run(boolean parallel, Class<?>... classes) {
    Samples.names.clear();
    Samples.AtOnce.most.clear();
    LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request()
        .configurationParameter("junit.jupiter.execution.parallel.enabled", String.valueOf(parallel))
        .configurationParameter("junit.jupiter.execution.parallel.mode.default", "concurrent")
        .configurationParameter("junit.jupiter.execution.parallel.config.strategy", "fixed")
        .configurationParameter("junit.jupiter.execution.parallel.config.fixed.parallelism", "4");
    for (Class<?> c : classes) {
      request.selectors(selectClass(c));
    }
    SummaryGeneratingListener listener = new SummaryGeneratingListener();
    LauncherFactory.create().execute(request.build(), listener);
    return listener.getSummary();
  }

  private static void passes(TestExecutionSummary summary, int tests) {
    summary.getFailures().forEach(f -> f.getException().printStackTrace());
    assertEquals(0, summary.getTotalFailureCount());
    assertEquals(tests, summary.getTestsSucceededCount());
  }

  private static String failure(TestExecutionSummary summary) {
    assertEquals(1, summary.getTotalFailureCount());
    return summary.getFailures().get(0).getException().getMessage();
  }

  @Test
  void aClassKeepsItsDatabase() {
    passes(run(false, Samples.Changes.class), 23);
    assertEquals(1, Set.copyOf(Samples.names).size());
  }

  /**
   * On a busy machine JUnit runs more than four tests at the same time: of its threads those that wait for
   * other tests do not count. So this counts what a class ran at once, and not what was configured.
   */
  @Test
  void testsAtTheSameTimeHaveTheirOwn() {
    passes(run(true, Samples.Changes.class, Samples.MoreChanges.class), 46);
    int databases = Set.copyOf(Samples.names).size();
    int most = Samples.AtOnce.most.values().stream().mapToInt(Integer::intValue).sum();
    assertTrue(databases >= 2 && databases <= most, databases + " databases, and tests at once: " + Samples.AtOnce.most);
  }

  @Test
  void testsOfASharedDatabaseTakeTurns() {
    passes(run(true, Samples.InTurn.class, Samples.MoreInTurn.class), 40);
    assertEquals(1, Set.copyOf(Samples.names).size());
  }

  @Test
  void nothingOfASessionPassesOn() {
    Samples.State.before.clear();
    passes(run(false, Samples.Sessions.class), 2 * Samples.State.values().length);
  }

  @Test
  void severalTemplates() {
    passes(run(false, Samples.Two.class), 1);
  }

  /** A transaction that an extension of the class rolls back after the test is no reason to end a connection. */
  @Test
  void resetsAfterOtherExtensions() {
    passes(run(false, Samples.Transaction.class), 3);
  }

  @Test
  void refusesADatabaseForAllTests() {
    assertTrue(failure(run(false, Samples.BeforeAllTests.class)).contains("belongs to one test"));
  }

  @Test
  void refusesAFieldOfTheInstance() {
    assertTrue(failure(run(false, Samples.NotStatic.class)).contains("must be static"));
  }

  @Test
  void keepsTheDatabaseOfAFailedTest() throws SQLException {
    String said = keeping(Samples.Fails.class, 2, 0);
    Matcher m = Pattern.compile("ramaria: Fails > fails\\(Connection\\) failed; its database is kept: mysql://(\\w+):(.*)@127.0.0.1:(\\d+)/(\\w+)").matcher(said);
    assertTrue(m.find(), said);
    String url = "jdbc:mariadb://127.0.0.1:" + m.group(3) + "/" + m.group(4) + "?allowPublicKeyRetrieval=true";
    try (Connection c = DriverManager.getConnection(url, m.group(1), m.group(2))) {
      assertEquals(4, Samples.count(c));
    }
  }

  @Test
  void leavesASharedDatabaseThatWasKept() {
    String said = keeping(Samples.FailsInTurn.class, 0, 1);
    assertTrue(said.contains("is kept"), said);
  }

  /** Without the property nothing is kept, and tests after a failed one find everything as it was. */
  @Test
  void putsBackAfterAFailure() {
    TestExecutionSummary summary = run(false, Samples.Fails.class);
    assertEquals(2, summary.getTestsSucceededCount());
    assertEquals(1, Set.copyOf(Samples.names).size());
  }

  private static String keeping(Class<?> sample, int succeed, int abort) {
    PrintStream stderr = System.err;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    System.setProperty("ramaria.keep", "true");
    System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
    try {
      TestExecutionSummary summary = run(false, sample);
      assertEquals(1, summary.getTestsFailedCount());
      assertEquals(succeed, summary.getTestsSucceededCount());
      assertEquals(abort, summary.getTestsAbortedCount());
    } finally {
      System.setErr(stderr);
      System.clearProperty("ramaria.keep");
    }
    return said.toString(StandardCharsets.UTF_8);
  }
}
