package io.github.ramariadb;

/** Says what could not be done, why, and on a line of its own what to do about it. */
public final class RamariaException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The code of errors that are not an instance's answer: none runs, or the program fails. */
  static final String NO_SERVER = "no_server";

  private final String code;

  RamariaException(String code, String message, String hint, Throwable cause) {
    super(hint.isEmpty() ? message : message + "\nhint: " + hint, cause);
    this.code = code;
  }

  /** An error that the API did not answer with. */
  static RamariaException local(String message, Throwable cause) {
    return new RamariaException(NO_SERVER, message, "", cause);
  }

  /**
   * The error's code for programs: one of the API's, as in {@code not_found}, {@code full} or
   * {@code busy}; {@code no_server} if no instance answered; {@code build} if a template's
   * {@link Template.Filler} failed. New ones may come.
   */
  public String code() {
    return code;
  }
}
