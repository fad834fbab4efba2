/// <reference lib="esnext.disposable" />

/** A client of the instance that RAMARIA_API names, or else of an instance for tests, which is started if need be. */
export function connect(): Promise<Client>

/** Asks one instance, and may make several calls at once. */
export class Client {
  /**
   * @param socket the path of the API's Unix socket, or https://HOST:PORT#sha256=FINGERPRINT of an instance on
   * another machine; nothing is asked yet
   * @param options.token of an instance on another machine; RAMARIA_TOKEN, or the file RAMARIA_TOKEN_FILE, without it
   */
  constructor(socket: string, options?: { token?: string })
  readonly socket: string
  /** Tells how the instance is. */
  status(): Promise<Record<string, any>>
  /** Makes a template unless it is there already. One of several callers makes it, the others wait. */
  template(source: TemplateSource): Promise<Template>
  templates(): Promise<Template[]>
  /** Leases a clone of a template; waits its turn when the pool is full. */
  createDatabase(template: Template | string, options?: DatabaseOptions): Promise<Database>
  /** Finds a lease by its name, and renews it. */
  database(name: string): Promise<Database>
  /** Makes any call of the HTTP API. */
  call(method: string, path: string, body?: unknown): Promise<any>
  /** Closes the connections that no call uses. */
  close(): void
}

export type TemplateSource = Dumps | Build

/** A template of dumps, loaded by the ramaria command. */
export interface Dumps {
  /** Letters, digits and _; the template's own name begins with it. */
  name: string
  /** .sql, .sql.gz, .sql.zst, .sql.xz, or directories of them. */
  from: string | URL | Array<string | URL>
  /** Default: a hash of the files. */
  key?: string
}

/** A template that a function fills. */
export interface Build {
  /** Letters, digits and _; the template's own name begins with it. */
  name: string
  /** Stands for everything that build does, such as a hash of the migrations; at most 1024 bytes. */
  key: string
  /** Fills an empty database, with an account that may do anything in the instance. */
  build(database: Endpoint): Promise<unknown> | unknown
  /** Seconds to wait for another who builds it; default 300. */
  wait?: number
  /** Seconds after which another may build it; default 600. */
  buildTime?: number
}

export interface Template {
  name: string
  [field: string]: unknown
}

export interface Endpoint {
  readonly name: string
  readonly host: string
  readonly port: number
  /** The path of the server's Unix socket; empty where the instance is on another machine. */
  readonly socket: string
  readonly user: string
  readonly password: string
  /** mysql://USER:PASSWORD@HOST:PORT/DATABASE */
  readonly url: string
}

export interface DatabaseOptions {
  name?: string
  /** Seconds for which it is kept after it was made and after each reset; default 3600. */
  ttl?: number
  /** Seconds to wait for one when the pool is full; default 60. */
  wait?: number
}

/** A clone of a template that its caller has alone. */
export class Database implements Endpoint {
  private constructor()
  readonly name: string
  /** The same as name, as drivers call it. */
  readonly database: string
  readonly host: string
  readonly port: number
  readonly socket: string
  readonly user: string
  readonly password: string
  readonly url: string
  readonly template: string
  /** When it is dropped unless it is reset before; undefined once it is kept. */
  readonly expires: Date | undefined
  /** Makes a new connection or pool of mysql2 or mariadb known, so that reset puts its sessions back. */
  use<T extends object>(connection: T): T
  /** Makes it as its template is. */
  reset(options?: ResetOptions): Promise<Reset>
  /** Makes what is committed now the savepoint, to which rollBack returns until the next reset. */
  setSavepoint(): Promise<void>
  /** Puts it back to its savepoint; the error code `lost` says that it was reset instead. */
  rollBack(options?: ResetOptions): Promise<Reset>
  /** Lets it stay as it is, to be looked at. */
  keep(): Promise<this>
  /** Ends the lease. */
  release(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export interface ResetOptions {
  /** Makes the sessions of connections that were made known as they were then. Default: true. */
  sessions?: boolean
}

export interface Reset {
  /** How it was done, the cheapest first. */
  way: 'noop' | 'rewind' | 'refill' | 'reclone'
  micros: number
  /** Why it was not a cheaper way. */
  why?: string
  warnings: string[]
}

/** What an instance, or the ramaria command, answers when it does not do what it was asked. */
export class RamariaError extends Error {
  /** The API's (not_found, busy, full, ...), no_server where no instance answered, or command where a command failed. */
  code: string
  /** What to do about it, normally a command. */
  hint?: string
  /** The HTTP status. */
  status?: number
}
