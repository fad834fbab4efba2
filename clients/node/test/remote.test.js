import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import mysql from 'mysql2/promise'
import { Client, connect } from 'ramaria'

const print = 'ab'.repeat(32)
const name = `node-remote-${process.pid}`
const ramaria = (...args) => execFileSync(process.env.RAMARIA_BIN, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
let where, token

// listening resolves to a server on loopback that answers by answer, and its port.
function listening(answer = () => {}) {
  return new Promise((resolve) => {
    const server = createServer(answer).listen(0, '127.0.0.1', () => resolve({ server, port: server.address().port }))
  })
}

before(async () => {
  const { server, port } = await listening()
  await new Promise((done) => server.close(done))
  ramaria('up', name, '--database', 'shop', '--api-listen', `127.0.0.1:${port}`)
  ramaria('template', 'add', 'shop', '-i', name)
  ;[, where, token] = /RAMARIA_API='(.*)'\n.*RAMARIA_TOKEN='(.*)'/.exec(ramaria('env', name, '--format', 'remote'))
})

after(() => ramaria('down', name, '--rm'))

test('a lease of an instance on another machine', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ramaria-node-'))
  t.after(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'token'), `${token}\n`)
  const was = { ...process.env }
  t.after(() => { process.env = was })
  Object.assign(process.env, { RAMARIA_API: where, RAMARIA_TOKEN_FILE: join(dir, 'token') })
  for (const key of ['RAMARIA_INSTANCE', 'RAMARIA_SERVER', 'RAMARIA_TOKEN']) delete process.env[key]
  const client = await connect()
  t.after(() => client.close())
  const db = await client.createDatabase('shop')
  assert.equal(db.socket, '')
  assert.equal(db.host, '127.0.0.1')
  const connection = db.use(await mysql.createConnection(db.url))
  const [[row]] = await connection.query('SELECT DATABASE() AS name')
  assert.equal(row.name, db.name)
  assert.equal((await db.reset()).way, 'noop')
  await connection.end()
  await db.release()
  await assert.rejects(client.call('GET', '/v1/pool'), { code: 'forbidden', status: 403 })
})

test('a wrong token, another fingerprint, and no TLS', async (t) => {
  await assert.rejects(new Client(where, { token: 'WRONG' }).status(), { code: 'unauthorized', status: 401 })
  await assert.rejects(new Client(where.slice(0, -64) + print, { token }).status(), (err) => /another fingerprint/.test(err.message) && !err.message.includes(token))
  let got = ''
  const { server, port } = await listening((socket) => socket.on('error', () => {}).on('data', (data) => {
    got += data
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]')
  }))
  t.after(() => server.close())
  await assert.rejects(new Client(`https://127.0.0.1:${port}#sha256=${print}`, { token: 'SESAME' }).status(), { code: 'no_server' })
  assert.ok(got !== '' && !got.includes('SESAME') && !got.includes('GET'))
})

test('an address without TLS, fingerprint or token is refused', () => {
  for (const [address, shown, why] of [
    [`http://db1:1#sha256=${print}`, 't', /only https/],
    ['https://db1:1', 't', /fingerprint is missing/],
    [`https://db1:1#sha256=${print.slice(2)}`, 't', /fingerprint is missing/],
    [`https://db1#sha256=${print}`, 't', /it is not https:\/\/HOST:PORT/],
    [`https://a@db1:1#sha256=${print}`, 't', /it is not https:\/\/HOST:PORT/],
    [`https://db1:x#sha256=${print}`, 't', /not a URL/],
    [`https://db1:1#sha256=${print}`, '', /token is missing/],
    [`https://db1:1#sha256=${print}`, 'a\r\nb', /token is missing, or is not one/],
  ]) assert.throws(() => new Client(address, { token: shown }), why)
})
