package io.github.ramariadb;

import java.util.List;

/**
 * What it took to make a database as its template is.
 *
 * @param way the way, the cheapest first: {@code noop}, {@code rewind}, {@code refill}, {@code reclone}
 * @param micros how long it took, in microseconds
 * @param why why it was not a cheaper way; may be empty
 * @param warnings what reaches beyond the database and was not put back
 */
public record Reset(String way, long micros, String why, List<String> warnings) {}
