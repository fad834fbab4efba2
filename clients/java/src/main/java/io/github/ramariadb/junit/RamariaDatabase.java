package io.github.ramariadb.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Asks {@link RamariaExtension} for the test's database, on a parameter of a test method, of
 * {@code @BeforeEach} or of {@code @AfterEach}. The parameter is a
 * {@link io.github.ramariadb.Database}, a {@link javax.sql.DataSource}, a
 * {@link java.sql.Connection}, which is closed after the test, or a {@link String}: the JDBC URL.
 */
@Documented
@Target(ElementType.PARAMETER)
@Retention(RetentionPolicy.RUNTIME)
public @interface RamariaDatabase {
  /** The template's name, in a class with several of the extension. */
  String value() default "";
}
