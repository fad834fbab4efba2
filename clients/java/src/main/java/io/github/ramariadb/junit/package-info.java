/**
 * The extension for JUnit 5: a database for each test, put back after it.
 *
 * <p>Two tests that run at the same time never have the same database.
 */
package io.github.ramariadb.junit;
