package io.github.ramariadb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The README's first example is {@link ShopTest}, which runs like any test. */
class ReadmeTest {
  @Test
  void firstExampleIsRun() throws IOException {
    String readme = Files.readString(Path.of("README.md"));
    String begin = "```java\n";
    int from = readme.indexOf(begin) + begin.length();
    String example = readme.substring(from, readme.indexOf("```", from));
    String test = Files.readString(Path.of("src/test/java/io/github/ramariadb/ShopTest.java"));
    assertEquals(test.substring(test.indexOf("import ")), example);
  }
}
