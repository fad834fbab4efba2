package io.github.ramariadb.junit;

import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;

/**
 * What a JUnit store closes with its context: up to 5.12 for the first interface, later for the second.
 */
interface Closing extends CloseableResource, AutoCloseable {
  @Override
  void close();
}
