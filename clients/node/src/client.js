import { fileURLToPath } from 'node:url'
import { run, findInstance } from './command.js'
import { Database } from './database.js'
import { Http } from './http.js'

// connect resolves to a client of the instance that $RAMARIA_API names, or else of an
// instance for tests, which it starts if need be.
export async function connect() {
  return new Client(await findInstance())
}

// Client asks one instance, and may make several calls at once.
export class Client {
  #http

  constructor(socket, { token } = {}) {
    this.#http = new Http(socket, token)
  }

  get socket() {
    return this.#http.socket
  }

  // call makes any call of the HTTP API.
  call(method, path, body) {
    return this.#http.call(method, path, body)
  }

  // close closes the connections that no call uses. The client can be used afterwards.
  close() {
    this.#http.close()
  }

  status() {
    return this.call('GET', '/v1/status')
  }

  // template makes a template from dumps (from) or by a function that fills an empty
  // database (build), unless it is there already. One of several callers makes it, the
  // others wait.
  async template({ name, key, from, build, wait, buildTime }) {
    if (Boolean(from) === Boolean(build)) throw new TypeError(`template ${name}: give either from or build`)
    if (from) return this.#load(name, key, [from].flat())
    if (!key) throw new TypeError(`template ${name}: give a key that stands for everything that build does, such as a hash of the migrations`)
    const { state, template, database } = await this.call('POST', '/v1/templates', { name, key, wait_s: wait, build_s: buildTime })
    if (state === 'ready') return template
    try {
      await build(database)
      return await this.call('PUT', templatePath(template.name))
    } catch (err) {
      await this.call('DELETE', templatePath(template.name)).catch(() => {}) // what went wrong first counts
      throw err
    }
  }

  async #load(name, key, files) {
    const args = ['template', 'add', name, '--json']
    for (const file of files) args.push('--from', file instanceof URL ? fileURLToPath(file) : file)
    if (key) args.push('--key', key)
    return JSON.parse(await run(args, this.#http.environ))
  }

  templates() {
    return this.call('GET', '/v1/templates')
  }

  // createDatabase leases a clone of a template. ttl and wait are in seconds.
  async createDatabase(template, { name, ttl, wait } = {}) {
    const of = typeof template === 'string' ? template : template.name
    return new Database(this, await this.call('POST', '/v1/databases', { template: of, name, ttl_s: ttl, wait_s: wait }))
  }

  // database finds a lease by its name, and renews it.
  async database(name) {
    return new Database(this, await this.call('GET', `/v1/databases/${encodeURIComponent(name)}`))
  }
}

const templatePath = (name) => `/v1/templates/${encodeURIComponent(name)}`
