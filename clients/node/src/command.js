import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { RamariaError } from './error.js'
import { Http } from './http.js'

// binary returns the ramaria program: the one that $RAMARIA_BIN names, that of this
// package, or one in PATH.
export function binary() {
  return process.env.RAMARIA_BIN || packaged() || 'ramaria'
}

// packaged returns the program that was installed with this package: in it, or in the
// package for this machine. null is for none.
export function packaged() {
  const packed = fileURLToPath(new URL('../bin/ramaria', import.meta.url))
  if (existsSync(packed)) return packed
  try {
    return createRequire(import.meta.url).resolve(`ramaria-${process.platform}-${process.arch}/bin/ramaria`)
  } catch {
    return null
  }
}

// run runs the ramaria command and resolves to what it printed.
export function run(args, env) {
  const program = binary()
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
    const out = []
    const talk = []
    child.stdout.on('data', (chunk) => out.push(chunk))
    child.stderr.on('data', (chunk) => {
      talk.push(chunk)
      process.stderr.write(chunk) // it may fetch a server, which takes a while
    })
    child.on('error', (cause) => {
      const hint = 'set RAMARIA_BIN to the path of the ramaria binary'
      reject(new RamariaError(`run ${program}: ${cause.message}`, { code: 'no_server', hint, cause }))
    })
    child.on('close', (status, signal) => {
      if (status === 0) return resolve(Buffer.concat(out).toString())
      const said = Buffer.concat(talk).toString().trim()
      const [, message, hint] = /(?:^ramaria: )?([^]*?)(?:\nhint: (.*))?$/.exec(said)
      reject(new RamariaError(`ramaria ${args.join(' ')}: ${message || `it ended with ${signal ?? status}`}`, { code: 'command', hint }))
    })
  })
}

// expect rejects, with the code other, if the instance is not what the variables choose.
async function expect(socket) {
  const query = new URLSearchParams()
  for (const key of ['instance', 'server']) {
    const value = process.env[`RAMARIA_${key.toUpperCase()}`]
    if (value) query.set(key, value)
  }
  if (`${query}` === '') return
  const http = new Http(socket)
  await http.call('GET', `/v1/status?${query}`).finally(() => http.close())
}

// findInstance resolves to the path of an instance's socket: the one that $RAMARIA_API
// names, or that of an instance for tests, which is started if it does not run and is
// left running, so that the next run finds its templates.
export async function findInstance() {
  if (process.env.RAMARIA_API) {
    await expect(process.env.RAMARIA_API)
    return process.env.RAMARIA_API
  }
  const name = process.env.RAMARIA_INSTANCE || 'tests'
  await run(['up', name])
  const line = /^export RAMARIA_API='(.*)'$/m.exec(await run(['env', name]))
  if (!line) throw new RamariaError(`find instance ${name}: ramaria env ${name} does not print RAMARIA_API`, { code: 'no_server' })
  return line[1].replaceAll("'\\''", "'")
}
