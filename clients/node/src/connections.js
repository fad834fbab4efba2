// Not the global ones, which tests replace.
import { clearTimeout, setTimeout } from 'node:timers'
import { State, call, isPromise } from './session.js'

// A statement that still runs keeps its connection busy; a reset does not wait longer for
// it, and leaves it to the server, which ends the connection if it has a transaction open.
const maxRollbackMillis = 1000

const busy = new Error('it is busy')

const why = 'Ramaria ended this connection at a reset, since it had a transaction open; roll back or commit before the reset'

const unseen = 'Ramaria ended this connection at a reset, since it was busy from db.use until then: what its session was is not known; make connections known before you use them'

// How servers and clients call it that a connection is lost; mostly the drivers set fatal.
const lost = new Set([1053, 1927, 2006, 2013, 3169, 4031, 'ECONNRESET', 'EPIPE', 'PROTOCOL_CONNECTION_LOST', 'ER_CMD_CONNECTION_CLOSED'])

const statements = ['query', 'execute', 'batch', 'prepare', 'beginTransaction', 'commit', 'rollback', 'ping', 'changeUser', 'reset']

// Connections are the connections to one database: those given to it, and those of the
// pools given to it.
export class Connections {
  #all = new Map() // connection -> { survived: the last reset before which it was rolled back, state: of its session, why: it was ended, if not for a transaction }
  #explaining = new WeakSet()
  #resets = 0
  #ending = false

  add(given) {
    // mysql2's objects with promises stand on ones with callbacks, which see all calls.
    const core = given.pool ?? given.connection ?? given
    if (typeof core.getConnection === 'function') this.#addPool(core)
    else this.#addConnection(core, false)
  }

  // settle rolls back all connections, each as soon as it has done what it is doing; renew makes
  // their sessions as they were when they were made known, too.
  async settle(renew) {
    const reset = this.#resets + 1
    await Promise.all([...this.#all].map(async ([connection, record]) => {
      const err = await inTime(renew ? record.state.restore() : call(connection, 'rollback'))
      if (!err) record.survived = reset
      else if (err === busy && renew && record.state.giveUp()) this.#end(connection, record)
      else if (isLost(err)) this.#all.delete(connection)
      else if (renew && err !== busy) throw err
    }))
    this.#resets = reset
  }

  // end ends a connection of which it is not known what its session was.
  #end(connection, record) {
    record.why = unseen
    this.#all.delete(connection)
    connection.destroy?.()
  }

  // expectEnd says that the lease ends, and connections with it.
  expectEnd() {
    this.#ending = true
  }

  #addPool(pool) {
    pool.on('connection', (connection) => this.#addConnection(typeof connection.changeTransaction === 'function' ? new Core(connection) : connection, true))
    if (typeof pool.promise === 'function') return // mysql2
    // A pool of mariadb wraps a connection again each time, and may hand it out before it tells of it.
    const get = pool.getConnection
    pool.getConnection = (...args) => {
      const result = get.apply(pool, args)
      if (!isPromise(result)) return result
      return result.then((connection) => {
        this.#addConnection(connection, true)
        return connection
      })
    }
  }

  #addConnection(connection, pooled) {
    const id = connection.threadId ?? undefined // null before it is connected
    const known = [...this.#all].find(([one]) => one === connection || (id !== undefined && one.threadId === id))
    const record = known?.[1] ?? { survived: this.#resets }
    if (!known) record.state = new State(connection)
    this.#explain(connection, record)
    if (known) return
    this.#all.set(connection, record)
    // Without a listener the end of a connection would end the process.
    connection.on?.('error', (err) => {
      const expected = pooled || this.#ending || this.#endedByReset(err, record)
      if (!expected && connection.listenerCount('error') === 1) throw err
    })
  }

  #endedByReset(err, record) {
    return isLost(err) && record.survived < this.#resets
  }

  // explain makes the errors of a connection say why it was ended.
  #explain(connection, record) {
    if (this.#explaining.has(connection)) return
    this.#explaining.add(connection)
    const explained = (err) => {
      const reason = record.why ?? why
      if (err && this.#endedByReset(err, record) && !err.message.includes(reason)) {
        const message = `${reason} (${err.message})`
        err.stack = err.stack?.replace(err.message, message)
        err.message = message
      }
      return err
    }
    for (const name of statements) {
      const original = connection[name]
      if (typeof original !== 'function') continue
      connection[name] = function (...args) {
        const callback = args.at(-1)
        if (typeof callback === 'function') args.splice(-1, 1, (err, ...rest) => callback(explained(err), ...rest))
        const result = original.apply(this, args)
        return isPromise(result) ? result.catch((err) => { throw explained(err) }) : result
      }
    }
  }
}

// Core is what pools of mariadb before 3.5 tell of: not the connection that they hand out, but that which is below it and
// takes other arguments.
class Core {
  #core

  constructor(core) {
    this.#core = core
  }

  get threadId() {
    return this.#core.threadId
  }

  query(query) {
    const { sql, ...opts } = typeof query === 'string' ? { sql: query } : query
    return new Promise((resolve, reject) => { this.#core.query({ sql, opts }, resolve, reject) })
  }

  rollback() {
    return this.query('ROLLBACK')
  }

  reset() {
    return new Promise((resolve, reject) => { this.#core.reset({}, resolve, reject) })
  }

  batch() { // by which mariadb is known
    throw new Error('nobody calls this')
  }

  on(...args) {
    this.#core.on(...args)
  }

  listenerCount(event) {
    return this.#core.listenerCount(event)
  }

  destroy() {
    this.#core.destroy()
  }
}

// inTime resolves to the error of a promise, undefined if there was none, and to busy if it takes too long.
async function inTime(promise) {
  let timer
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, maxRollbackMillis, busy)
  })
  const err = await Promise.race([promise.then(() => undefined, (err) => err), late])
  clearTimeout(timer)
  return err
}

const isLost = (err) => Boolean(err.fatal) || lost.has(err.errno) || lost.has(err.code)
