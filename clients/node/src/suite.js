import { connect } from './client.js'

// The first run may fetch a server and fill a template, or wait for one who does.
export const setUpMillis = 15 * 60_000

// Suite is what the helpers for node:test, Jest and Vitest share: one lease for a test file,
// taken before its first test, reset after each, released after the last.
export class Suite {
  #options
  #client
  #template
  #database
  #connection
  #given = false // the user gave connections to the database
  #kept // the failed test whose database they go to still

  constructor({ template, ttl, connect, keepSessions = false }) {
    this.#options = { template, ttl, connect, keepSessions }
    const suite = this
    this.handle = {
      reset: () => suite.#reset(),
      use: (connection) => {
        suite.#given = true
        return suite.#current().use(connection)
      },
      get connection() {
        suite.#current()
        return suite.#connection
      },
    }
    for (const field of ['name', 'database', 'host', 'port', 'socket', 'user', 'password', 'url', 'template']) {
      Object.defineProperty(this.handle, field, { enumerable: true, get: () => suite.#current()[field] })
    }
  }

  async setUp() {
    this.#client = await connect()
    const { template } = this.#options
    this.#template = typeof template === 'string' ? template : await this.#client.template(template)
    await this.#lease()
  }

  beforeTest() {
    if (!this.#kept) return
    throw new Error(`not run: connections of this file go to the database that was kept for the failed test ${this.#kept}\nhint: make them with the option connect of ramariaDatabase, which is called for each database`)
  }

  // afterTest puts the database back, or keeps it for a failed test if RAMARIA_KEEP=1.
  // failed is undefined if the test runner does not tell.
  async afterTest(test, failed) {
    if (!this.#database || this.#kept) return
    const keep = process.env.RAMARIA_KEEP === '1'
    if (keep && failed === undefined) process.emitWarning('RAMARIA_KEEP has no effect: this test runner does not tell whether a test failed', 'RamariaWarning')
    if (!keep || !failed) {
      await this.#reset()
      return
    }
    const { url } = await this.#database.keep()
    process.stderr.write(`ramaria: kept the database of the failed test ${test}: ${url}\n`)
    if (this.#given) {
      this.#kept = test
      return
    }
    await this.#disconnect()
    await this.#lease()
  }

  async tearDown() {
    await this.#disconnect()
    await this.#database?.release()
    this.#client?.close()
  }

  #current() {
    if (!this.#database) throw new Error('the database is there from beforeAll on: use it inside tests and hooks')
    return this.#database
  }

  async #lease() {
    const { ttl, connect } = this.#options
    this.#database = await this.#client.createDatabase(this.#template, { ttl })
    if (!connect) return
    this.#connection = await connect(this.#database)
    for (const one of [this.#connection].flat()) this.#database.use(one)
  }

  async #disconnect() {
    if (this.#connection) await Promise.all([this.#connection].flat().map((one) => one.end()))
    this.#connection = undefined
  }

  async #reset() {
    const result = await this.#current().reset({ sessions: !this.#options.keepSessions })
    for (const warning of result.warnings) process.emitWarning(warning, 'RamariaWarning')
    return result
  }
}
