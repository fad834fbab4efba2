import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
// Not the global ones, which tests replace.
import { clearTimeout, setTimeout } from 'node:timers'
import { connect } from 'node:tls'
import { RamariaError } from './error.js'

export const hint = "ramaria env --format remote, on the instance's machine, has the right RAMARIA_API and RAMARIA_TOKEN"

// How long a connection may take. A call takes as long as the instance takes.
const maxConnectMillis = 15_000

// Remote is an instance on another machine: where it is, https://HOST:PORT#sha256=FINGERPRINT, and the token.
export class Remote {
  constructor(where, token) {
    const refuse = (why) => new RamariaError(`find instance: ${why}`, { code: 'no_server', hint })
    let url
    try {
      url = new URL(where)
    } catch {
      throw refuse('RAMARIA_API is not a URL')
    }
    if (url.protocol !== 'https:') throw refuse(`${url.protocol.slice(0, -1)}: others on the way could read the token: only https is spoken`)
    if (!url.hostname || url.username || url.password || !['', '/'].includes(url.pathname) || url.search || !/^https:\/\/[^/#]*:\d+/.test(where)) {
      throw refuse('it is not https://HOST:PORT#sha256=FINGERPRINT')
    }
    const known = /^#sha256=([0-9a-f]{64})$/i.exec(url.hash)
    if (!known) throw refuse('the fingerprint is missing by which it is known, #sha256= and 64 hexadecimal digits')
    this.host = url.hostname.replace(/^\[|\]$/g, '')
    this.port = Number(url.port || 443)
    this.fingerprint = Buffer.from(known[1], 'hex')
    this.token = (token ?? tokenOf(process.env)).trim()
    if (!/^[!-~]+$/.test(this.token)) throw refuse('the token is missing, or is not one: RAMARIA_TOKEN, or the file RAMARIA_TOKEN_FILE')
  }
}

function tokenOf({ RAMARIA_TOKEN: token, RAMARIA_TOKEN_FILE: path }) {
  if (token || !path) return token ?? ''
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new RamariaError(`find instance: read token: ${cause.message}`, { code: 'no_server', cause })
  }
}

// RemoteAgent hands a connection out when the other end has shown the right certificate: before that nothing is sent.
export class RemoteAgent extends Agent {
  #remote

  constructor(remote, options) {
    super(options)
    this.#remote = remote
  }

  createConnection(options, done) {
    const { host, port, fingerprint } = this.#remote
    // Nobody has signed the certificate: its fingerprint says whose it is.
    const socket = connect({ host, port, minVersion: 'TLSv1.3', rejectUnauthorized: false })
    const fail = (err) => {
      clearTimeout(timer)
      socket.destroy()
      done(err)
    }
    const timer = setTimeout(fail, maxConnectMillis, new Error('it does not answer'))
    socket.once('error', fail)
    socket.once('secureConnect', () => {
      const shown = socket.getPeerCertificate().raw
      if (!shown || !timingSafeEqual(createHash('sha256').update(shown).digest(), fingerprint)) {
        return fail(new Error('its certificate has another fingerprint: it is another instance, or somebody is between it and you'))
      }
      clearTimeout(timer)
      socket.off('error', fail)
      done(null, socket)
    })
  }
}
