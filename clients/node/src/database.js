import { Connections } from './connections.js'

const asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose') // Node 18 has none before 18.18

// Database is a lease: a clone of a template that its caller has alone. Its account can
// do anything in it, and nothing elsewhere.
export class Database {
  #client
  #path
  #connections = new Connections()
  #over = false

  constructor(client, fields) {
    this.#client = client
    this.#path = `/v1/databases/${encodeURIComponent(fields.name)}`
    this.#take(fields)
  }

  #take({ name, host, port, socket, user, password, url, template, expires_at: expires }) {
    Object.assign(this, { name, database: name, host, port, socket, user, password, url, template })
    this.expires = expires ? new Date(expires) : undefined
  }

  // use makes a connection or a pool of mysql2 or mariadb known, and returns it: reset makes its
  // session as it is now, and when it was ended all the same its error says why.
  use(connection) {
    this.#connections.add(connection)
    return connection
  }

  // reset makes the database as its template is, and renews its time to live. Sessions of connections that
  // were made known are new after it, unless sessions is false.
  reset(options) {
    return this.#putBack('reset', options)
  }

  // setSavepoint makes what is committed now the savepoint, to which rollBack returns until the next
  // reset. A lease has one savepoint.
  async setSavepoint() {
    await this.#client.call('POST', `${this.#path}/savepoint`)
  }

  // rollBack puts the database back to its savepoint. An error with the code lost says that it has
  // none, or that undoing rows does not lead back to it: then it was reset.
  rollBack(options) {
    return this.#putBack('rollback', options)
  }

  // The sessions come first, as a whole, though only their rollback must: a statement that is at work when the
  // server looks has it look again, and loses its connection after a while; and USE fails while a database is made again.
  async #putBack(how, { sessions = true } = {}) {
    await this.#connections.settle(sessions)
    const answer = await this.#client.call('POST', `${this.#path}/${how}`)
    return { warnings: [], ...answer }
  }

  // keep lets the database stay as it is, to be looked at; release does not touch it
  // any more.
  async keep() {
    this.#take(await this.#client.call('POST', `${this.#path}/keep`))
    this.#over = true
    return this
  }

  // release ends the lease. It may be called more than once.
  async release() {
    if (this.#over) return
    this.#connections.expectEnd()
    await this.#client.call('DELETE', this.#path).catch((err) => {
      if (err.code !== 'not_found') throw err
    })
    this.#over = true
  }

  [asyncDispose]() {
    return this.release()
  }
}
