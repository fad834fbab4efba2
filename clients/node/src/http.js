import { statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { request as requestTLS } from 'node:https'
import { RamariaError } from './error.js'
import { hint as remoteHint, Remote, RemoteAgent } from './remote.js'

// The instance closes a connection after a minute of silence; ours go well before, so
// that the two do not cross.
const maxIdleMillis = 30_000
const maxIdle = 16

// Http sends requests to the API's Unix socket, or to another machine, and keeps connections
// open. Kept ones do not keep the process from ending.
export class Http {
  #agent
  #remote
  #trusted = false

  constructor(socket, token) {
    this.socket = socket
    const options = { keepAlive: true, maxFreeSockets: maxIdle, timeout: maxIdleMillis }
    if (socket.includes('://')) this.#remote = new Remote(socket, token)
    this.#agent = this.#remote ? new RemoteAgent(this.#remote, options) : new Agent(options)
  }

  // environ is how the program ramaria finds the same instance.
  get environ() {
    return { RAMARIA_API: this.socket, ...(this.#remote && { RAMARIA_TOKEN: this.#remote.token }) }
  }

  // call resolves to the JSON of the answer, or to undefined.
  async call(method, path, body) {
    if (!this.#trusted && !this.#remote) checkOwner(this.socket)
    this.#trusted = true
    const text = body === undefined ? undefined : JSON.stringify(body)
    let answer
    try {
      answer = await this.#exchange(method, path, text)
    } catch (err) {
      if (!err.unseen) throw noAnswer(this.socket, err)
      answer = await this.#exchange(method, path, text).catch((again) => { throw noAnswer(this.socket, again) })
    }
    return read(answer)
  }

  close() {
    this.#agent.destroy()
  }

  #exchange(method, path, text) {
    return new Promise((resolve, reject) => {
      const headers = this.#remote ? { Authorization: `Bearer ${this.#remote.token}` } : { Host: 'ramaria' }
      if (text !== undefined) {
        headers['Content-Type'] = 'application/json'
        headers['Content-Length'] = Buffer.byteLength(text)
      }
      const options = { agent: this.#agent, method, path, headers }
      const ask = (done) => this.#remote
        ? requestTLS({ ...options, host: this.#remote.host, port: this.#remote.port }, done)
        : request({ ...options, socketPath: this.socket }, done)
      const req = ask((res) => {
        const chunks = []
        res.on('data', (chunk) => chunks.push(chunk))
        res.on('error', reject)
        res.on('end', () => resolve({ status: res.statusCode, text: Buffer.concat(chunks).toString() }))
      })
      req.on('error', (err) => {
        // A kept connection may have been closed by an instance that ended. The system call says that
        // the instance did not read the request; of one that hung up later ("socket hang up", without
        // a system call) it is unknown whether it acted on it, and of another machine anyway.
        err.unseen = !this.#remote && req.reusedSocket && err.syscall !== undefined && ['EPIPE', 'ECONNRESET'].includes(err.code)
        reject(err)
      })
      req.end(text)
    })
  }
}

// checkOwner refuses the socket of another user, who would learn what is asked and could
// answer with a database of their own.
function checkOwner(socket) {
  let stat
  try {
    stat = statSync(socket)
  } catch (cause) {
    throw noAnswer(socket, cause)
  }
  if (!stat.isSocket()) {
    throw new RamariaError(`look at ${socket}: it is no socket`, { code: 'no_server', hint: 'ramaria env has the right RAMARIA_API' })
  }
  const me = process.geteuid()
  if (stat.uid !== 0 && stat.uid !== me) {
    throw new RamariaError(`look at ${socket}: it belongs to user ${stat.uid}, neither user ${me}, who asks, nor root`, { code: 'no_server' })
  }
}

function noAnswer(socket, cause) {
  const hint = socket.includes('://') ? remoteHint : 'ramaria ls'
  return new RamariaError(`ask the instance at ${socket}: ${cause.message}`, { code: 'no_server', hint, cause })
}

function read({ status, text }) {
  let body
  try {
    body = text === '' ? undefined : JSON.parse(text)
  } catch {
    throw new RamariaError(`read answer ${status}: it is not JSON: ${text.slice(0, 200)}`, { status })
  }
  if (status < 400) return body
  const { code, message = `the instance answered ${status}`, hint } = body?.error ?? {}
  throw new RamariaError(message, { code, hint, status })
}
