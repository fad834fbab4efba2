import type { Database, Endpoint, Reset, TemplateSource } from './index.js'

export interface SuiteOptions<C> {
  /** What the database is a clone of: the name of a template, or what makes one. */
  template: string | TemplateSource
  /** Seconds for which the database is kept after each reset; default 3600. */
  ttl?: number
  /** Makes a connection or a pool, or a list of them, with an end(): its sessions are put back at each reset, and ended at the end. */
  connect?(database: Database): C | Promise<C>
  /** Leaves sessions as tests left them: variables, temporary tables, prepared statements. Default: false. */
  keepSessions?: boolean
}

/** The database of a test file; to be used inside tests and hooks. */
export interface SuiteDatabase<C> extends Endpoint {
  readonly database: string
  readonly template: string
  /** What connect made. */
  readonly connection: C
  /** Makes a new connection or pool of your own known, so that a reset puts its sessions back. */
  use<T extends object>(connection: T): T
  /** Puts the database back in the middle of a test. */
  reset(): Promise<Reset>
}

/**
 * Leases a database for the tests of this file or describe, puts it back after each, and releases it
 * at the end. With RAMARIA_KEEP=1 a failed test keeps its database, and its DSN is printed.
 */
export function ramariaDatabase<C = undefined>(options: SuiteOptions<C>): SuiteDatabase<C>
